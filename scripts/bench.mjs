/** `npm run bench`: installs and builds where needed, then measures. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/bench/run.ts`, ...process.argv.slice(2)])
