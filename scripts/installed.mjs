/** `npm run installed`: installs, uses, upgrades and removes the Debian packages in a virtual machine with systemd. */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode(['--conditions=source', `${root}/tests/system/packages/machine/run.ts`])
