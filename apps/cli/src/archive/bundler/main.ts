/**
 * The process that bundles functions, one after the other, for the command line that started it. A build that needs too much time or
 * memory is stopped with it.
 */
import { answer } from './answer.ts'
import type { BuildRequest } from './message.ts'

process.on('message', (request: BuildRequest) => {
  void answer(request).then((given) => process.send?.(given))
})
// Ctrl-C is for the command line, which stops this process.
process.on('SIGINT', () => undefined)
// The command line has exited.
process.on('disconnect', () => process.exit())
