/** `npm run release:sign -- --key <file>`: signs what `npm run package` made. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode(['--conditions=source', `${root}/packaging/sign.ts`, ...process.argv.slice(2)])
