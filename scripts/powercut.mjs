/** `npm run powercut [-- daemons | lives | upgrades | mutants | controls]`: installs and builds where needed, then cuts the power in thousands of places. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/tests/system/powercut/run.ts`, ...process.argv.slice(2)])
