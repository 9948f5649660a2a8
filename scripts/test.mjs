/** `npm test`: installs and builds where needed, then runs tests. Arguments: see `tests/harness/run/run.ts`. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/libraries.mjs`])
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode([`${root}/tests/harness/run/run.ts`, ...process.argv.slice(2)])
