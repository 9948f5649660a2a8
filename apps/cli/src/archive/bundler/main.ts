/**
 * The process that bundles functions, one after the other, for the command line that started it. A build that needs too much time or
 * memory is stopped with it.
 */
import { transpileComponent } from '../component/transpile.ts'
import { BuildFailure, bundleFunction } from './bundle.ts'
import { type BuildAnswer, type BuildRequest, exitOutOfMemory } from './message.ts'

const memoryCheckIntervalMs = 50

async function answer(request: BuildRequest): Promise<BuildAnswer> {
  const { limits } = request
  let bundler: typeof import('rolldown') | undefined
  try {
    if (!('component' in request)) bundler = await import('rolldown')
  } catch (cause) {
    return { missing: (cause as Error).message.split('\n', 1)[0]! }
  }
  const check = setInterval(() => {
    if (process.memoryUsage.rss() > limits.memoryBytes) process.exit(exitOutOfMemory)
  }, memoryCheckIntervalMs)
  try {
    if ('component' in request)
      return {
        bundled: {
          code: await transpileComponent(request.component, request.entry),
          files: [],
          warnings: [],
        },
      }
    return { bundled: await bundleFunction(bundler!, request.folder, request.entry, limits) }
  } catch (cause) {
    if (cause instanceof BuildFailure) return { problem: cause.problem }
    return { problem: { text: (cause as Error).message } }
  } finally {
    clearInterval(check)
  }
}

process.on('message', (request: BuildRequest) => {
  void answer(request).then((given) => process.send?.(given))
})
// Ctrl-C is for the command line, which stops this process.
process.on('SIGINT', () => undefined)
// The command line has exited.
process.on('disconnect', () => process.exit())
