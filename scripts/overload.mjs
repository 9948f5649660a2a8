/** `npm run overload [words of a row]`: installs and builds where needed, then asks each daemon for twice of what it can do. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/tests/system/overload/run.ts`, ...process.argv.slice(2)])
