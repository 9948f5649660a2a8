/** `npm run pulls [condition…]`: installs and builds where needed, then pulls images over bad networks, with Podman beside (docs/services.md). */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/tests/system/pulls/run.ts`, ...process.argv.slice(2)])
