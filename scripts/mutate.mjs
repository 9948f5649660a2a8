/** `npm run mutate [-- file …]`: installs where needed, then changes the files that decide about safety, to see tests fail. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode(['--conditions=source', `${root}/tests/mutation/run.ts`, ...process.argv.slice(2)])
