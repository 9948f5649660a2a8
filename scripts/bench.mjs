/** `npm run bench`: installs and builds where needed, then measures. `npm run bench compare <before> <after>` compares checkouts. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

const [first, ...rest] = process.argv.slice(2)
const [script, args] = first === 'compare' ? ['compare.ts', rest] : ['run.ts', process.argv.slice(2)]
ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/bench/${script}`, ...args])
