/** `npm run aimed [-- word …]`: installs where needed, then breaks promises of the code one by one, to see the named tests fail. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode(['--conditions=source', `${root}/tests/mutation/aimed/run.ts`, ...process.argv.slice(2)])
