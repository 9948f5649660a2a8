/** Compiles what is shipped: each program into one file, each library into modules with their types. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/libraries.mjs`])
runOnProjectNode([`${root}/scripts/bundle.mjs`])
