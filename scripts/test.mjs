/** `npm test`: installs and builds where needed, then runs every test. Arguments go to Vitest: `npm test -- gps`. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/libraries.mjs`])
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode([`${root}/node_modules/vitest/vitest.mjs`, 'run', ...process.argv.slice(2)])
