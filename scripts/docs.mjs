/** `npm run docs`: makes docs/reference from the code; with --check, says whether it is up to date. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode(['--conditions=source', `${root}/docs/generate/reference.ts`, ...process.argv.slice(2)])
