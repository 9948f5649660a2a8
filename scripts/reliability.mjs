/** `npm run reliability <experiment> [rounds]`: installs and builds where needed, then runs one experiment of docs/reliability.md whole. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/tests/system/reliability/run.ts`, ...process.argv.slice(2)])
