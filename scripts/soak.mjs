/** `npm run soak [minutes]`: installs and builds where needed, then attacks a whole stack while others use it. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/tests/system/soak/run.ts`, ...process.argv.slice(2)])
