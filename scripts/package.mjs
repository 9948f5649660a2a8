/** `npm run package`: installs and builds where needed, then makes what is released, in `dist/`. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/libraries.mjs`])
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/packaging/run.ts`, ...process.argv.slice(2)])
