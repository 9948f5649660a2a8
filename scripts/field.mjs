/** `npm run field [-- program… | compose [file…]]`: installs and builds where needed, then runs programs as their public images have them (docs/field.md). */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/tests/system/field/run.ts`, ...process.argv.slice(2)])
