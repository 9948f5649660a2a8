/** Which convention a source follows, and the function that serves it. */
import { setGlobals } from './globals.ts'
import { hostHandler, type Surroundings } from './handler.ts'
import { readBundle } from './source-map.ts'
import { mapStackTraces, scriptName } from './stack-traces.ts'

/** Name of a function's file in the stack traces of one without a source map. */
const fileName = 'index.js'

export type Serve = (request: Request) => Promise<Response>

interface WorkerModule {
  readonly default?: {
    fetch?: (request: Request, env: object, context: object) => Response | Promise<Response>
  }
}

/**
 * A script that sets `mimikModule.exports`, or a module with a default export: a script if it parses as one.
 *
 * @param background takes what a module worker goes on with after its answer
 * @throws Error where it is neither
 */
export async function loadScript(
  source: string,
  around: Surroundings,
  background: (task: Promise<unknown>) => void,
): Promise<Serve> {
  const { code, find } = readBundle(source)
  if (!isScript(code)) {
    const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
    mapStackTraces((file) => file === url, find, fileName)
    return loadWorker(url, around, background)
  }
  mapStackTraces((file) => file === scriptName, find, fileName)
  return hostHandler(runScript(code), around)
}

function isScript(source: string): boolean {
  try {
    new Function(source)
    return true
  } catch {
    return false
  }
}

function runScript(source: string): Parameters<typeof hostHandler>[0] {
  const global = globalThis as unknown as { mimikModule: { exports?: unknown } }
  global.mimikModule = {}
  setGlobals()
  // Indirect: the script runs as one, with its top level as the global scope.
  // biome-ignore lint/security/noGlobalEval: hosting code is what this program is for
  const run = globalThis.eval
  run(`${source}\n//# sourceURL=${scriptName}`)
  const handler = global.mimikModule.exports
  if (typeof handler !== 'function')
    throw new Error('index.js sets no handler: mimikModule.exports = (context, request, response) => …')
  return handler as never
}

async function loadWorker(
  url: string,
  { env, info, storage, identityToken, secrets }: Surroundings,
  background: (task: Promise<unknown>) => void,
): Promise<Serve> {
  const { default: worker } = (await import(url)) as WorkerModule
  const { fetch: serve } = worker ?? {}
  if (typeof serve !== 'function')
    throw new Error('index.js exports no worker: export default { fetch(request, env, ctx) { … } }')
  const context = {
    waitUntil: (promise: unknown) =>
      background(Promise.resolve(promise).catch((cause) => console.error('waitUntil', cause))),
    passThroughOnException: () => undefined,
    storage,
    info,
    identityToken,
    secrets,
  }
  return async (request) => serve.call(worker, request, env, context)
}
