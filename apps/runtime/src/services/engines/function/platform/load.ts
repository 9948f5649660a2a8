/** Which convention a source follows, and the function that serves it. */
import { setGlobals } from './globals.ts'
import { hostHandler, type Surroundings } from './handler.ts'
import { type RunScheduled, runScheduled } from './scheduled.ts'
import { readBundle } from './source-map.ts'
import { mapStackTraces, scriptName } from './stack-traces.ts'

/** Name of a function's file in the stack traces of one without a source map. */
const fileName = 'index.js'

type Serve = (request: Request) => Promise<Response>

/** What a source serves: requests, and the event `scheduled` if it has a handler for that. */
export interface Handlers {
  readonly serve: Serve
  readonly scheduled?: RunScheduled
}

interface WorkerModule {
  readonly default?: {
    fetch?: (request: Request, env: object, context: object) => Response | Promise<Response>
    scheduled?: (event: object, env: object, context: object) => unknown
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
): Promise<Handlers> {
  const { code, find } = readBundle(source)
  if (!isScript(code)) {
    const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
    mapStackTraces((file) => file === url, find, fileName)
    return loadWorker(url, around, background)
  }
  mapStackTraces((file) => file === scriptName, find, fileName)
  const { exports, scheduled } = runScript(code)
  const { serve, contextOf } = hostHandler(exports, around)
  if (typeof scheduled !== 'function') return { serve }
  const handler = scheduled as (event: object, context: object) => unknown
  return {
    serve,
    scheduled: (event) =>
      runScheduled((own, waitUntil) => handler(own, { ...contextOf(), waitUntil }), event),
  }
}

function isScript(source: string): boolean {
  try {
    new Function(source)
    return true
  } catch {
    return false
  }
}

/** What a script sets. */
interface Script {
  readonly exports: Parameters<typeof hostHandler>[0]
  readonly scheduled?: unknown
}

function runScript(source: string): Script {
  const global = globalThis as unknown as { mimikModule: { exports?: unknown; scheduled?: unknown } }
  global.mimikModule = {}
  setGlobals()
  // Indirect: the script runs as one, with its top level as the global scope.
  // biome-ignore lint/security/noGlobalEval: hosting code is what this program is for
  const run = globalThis.eval
  run(`${source}\n//# sourceURL=${scriptName}`)
  const { exports: handler, scheduled } = global.mimikModule
  if (typeof handler !== 'function')
    throw new Error('index.js sets no handler: mimikModule.exports = (context, request, response) => …')
  return { exports: handler as never, scheduled }
}

async function loadWorker(
  url: string,
  { env, info, storage, identityToken, secrets }: Surroundings,
  background: (task: Promise<unknown>) => void,
): Promise<Handlers> {
  const { default: worker } = (await import(url)) as WorkerModule
  const { fetch: serve, scheduled } = worker ?? {}
  if (typeof serve !== 'function' && typeof scheduled !== 'function')
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
  return {
    serve: async (request) =>
      typeof serve === 'function' ? serve.call(worker, request, env, context) : answersNothing(),
    ...(typeof scheduled === 'function' && {
      scheduled: (event) =>
        runScheduled((own, waitUntil) => scheduled.call(worker, own, env, { ...context, waitUntil }), event),
    }),
  }
}

/** A worker may have no handler but the one for `scheduled`. */
const answersNothing = (): Response =>
  Response.json(
    { error: { code: 404, reason: 'not_found', message: 'this function answers no requests' } },
    { status: 404 },
  )
