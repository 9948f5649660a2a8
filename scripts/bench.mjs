/** `npm run bench`: installs and builds where needed, then measures. `compare <before> <after>` compares checkouts, `copies` simulates copied devices. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

const [first, ...rest] = process.argv.slice(2)
const own = ['compare', 'copies'].find((each) => each === first)
const [script, args] = own ? [`${own}.ts`, rest] : ['run.ts', process.argv.slice(2)]
ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/bench/${script}`, ...args])
