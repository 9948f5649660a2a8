/** `npm run fuzz [seconds]`: installs where needed, then fuzzes every parser of foreign bytes. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode(['--conditions=source', `${root}/tests/system/fuzz/run.ts`, ...process.argv.slice(2)])
