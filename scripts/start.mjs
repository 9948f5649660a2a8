/** `npm start`: installs and builds where needed, then runs the whole local stack until it is told to stop. */
import { spawn } from 'node:child_process'
import { ensureInstalled, projectNode, root, runOnProjectNode } from './install.mjs'

ensureInstalled()
runOnProjectNode([`${root}/scripts/libraries.mjs`])
runOnProjectNode([`${root}/scripts/bundle.mjs`])

// The channel lets the stack notice the end of this process, however it ends.
const stack = spawn(projectNode(), [`${root}/apps/stack/dist/main.cjs`, ...process.argv.slice(2)], {
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
})
// Ctrl-C reaches the stack by itself; a signal to this process alone is passed on.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => stack.kill('SIGTERM'))
const parent = process.ppid
setInterval(() => {
  if (process.ppid !== parent) stack.kill('SIGTERM')
}, 1000).unref()
stack.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
