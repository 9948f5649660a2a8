/** One build, with limits on its memory: of the sources of a folder, or of a component. */
import { transpileComponent } from '../component/transpile.ts'
import { BuildFailure, bundleFunction } from './bundle.ts'
import { type BuildAnswer, type BuildRequest, exitOutOfMemory } from './message.ts'

const memoryCheckIntervalMs = 50

/** Exits if the build needs more memory than allowed. */
export async function answer(request: BuildRequest): Promise<BuildAnswer> {
  const { rss } = process.memoryUsage
  const check = setInterval(() => {
    if (rss() > request.limits.memoryBytes) process.exit(exitOutOfMemory)
  }, memoryCheckIntervalMs)
  try {
    return await ('component' in request ? buildComponent(request) : buildFolder(request))
  } catch (cause) {
    return { problem: cause instanceof BuildFailure ? cause.problem : { text: (cause as Error).message } }
  } finally {
    clearInterval(check)
  }
}

type RequestWith<Field extends 'component' | 'folder'> = Extract<
  BuildRequest,
  Readonly<Record<Field, unknown>>
>

const buildComponent = async ({ component, entry }: RequestWith<'component'>): Promise<BuildAnswer> => ({
  bundled: { code: await transpileComponent(component, entry), files: [], warnings: [] },
})

async function buildFolder({ folder, entry, limits }: RequestWith<'folder'>): Promise<BuildAnswer> {
  let bundler: typeof import('rolldown')
  try {
    bundler = await import('rolldown')
  } catch (cause) {
    return { missing: (cause as Error).message.split('\n', 1)[0]! }
  }
  return { bundled: await bundleFunction(bundler, folder, entry, limits) }
}
