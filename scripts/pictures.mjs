/** `npm run pictures`: installs and builds where needed, then makes pictures of all pages of the console, and measures a large fleet (docs/people.md). */
import { ensureInstalled, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/bundle.mjs`])
runOnProjectNode([
  '--conditions=source',
  `${root}/tests/system/people/pictures/run.ts`,
  ...process.argv.slice(2),
])
