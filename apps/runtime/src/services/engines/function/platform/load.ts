/** Which convention a source follows, and the function that serves it. */
import type { WorkerContext } from '@selvedge/client/function'
import { setGlobals } from './globals.ts'
import { hostHandler, type Surroundings } from './handler.ts'
import { type RunScheduled, runScheduled } from './scheduled.ts'
import type { Servers } from './servers/offer.ts'
import { type StartFailures, watchStart } from './servers/watch-start.ts'
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

/** What a source is loaded with. */
export interface Loading {
  readonly around: Surroundings
  readonly servers: Servers
  /** Gets what a module worker continues with after its answer. */
  background(task: Promise<unknown>): void
}

/**
 * A script that sets `mimikModule.exports`, or a module with a default export: a script if it parses as one. Either may have a server of `node:http` that
 * listens in place of a handler for requests.
 *
 * @throws Error if it has no handler and no such server, or both
 */
export async function loadScript(source: string, loading: Loading): Promise<Handlers> {
  const { code, find } = readBundle(source)
  const start = watchStart()
  try {
    if (isScript(code)) {
      mapStackTraces((file) => file === scriptName, find, fileName)
      return await loadHandler(code, loading, start)
    }
    const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
    mapStackTraces((file) => file === url, find, fileName)
    return await loadWorker(url, loading, start)
  } finally {
    start.close()
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
  readonly handler: unknown
  readonly scheduled: unknown
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
  return { handler, scheduled }
}

async function loadHandler(code: string, loading: Loading, start: StartFailures): Promise<Handlers> {
  const { around } = loading
  const { handler, scheduled } = runScript(code)
  const isHandler = typeof handler === 'function'
  const { serve, contextOf } = hostHandler(handler as never, around)
  const run = scheduled as (event: object, context: object) => unknown
  return {
    serve: isHandler
      ? alone(loading.servers, serve)
      : await serverOf(loading, start, typeof scheduled === 'function', missingHandler),
    ...(typeof scheduled === 'function' && {
      scheduled: (event) => runScheduled((own, waitUntil) => run(own, { ...contextOf(), waitUntil }), event),
    }),
  }
}

async function loadWorker(url: string, loading: Loading, start: StartFailures): Promise<Handlers> {
  const { env } = loading.around
  const { default: worker } = (await import(url)) as WorkerModule
  const { fetch: serve, scheduled } = worker ?? {}
  const context = workerContext(loading)
  return {
    serve:
      typeof serve === 'function'
        ? alone(loading.servers, async (request) => serve.call(worker, request, env, context))
        : await serverOf(loading, start, typeof scheduled === 'function', missingWorker),
    ...(typeof scheduled === 'function' && {
      scheduled: (event) =>
        runScheduled((own, waitUntil) => scheduled.call(worker, own, env, { ...context, waitUntil }), event),
    }),
  }
}

const missingHandler =
  'index.js sets no handler: mimikModule.exports = (context, request, response) => …, and no http.Server listens'
const missingWorker =
  'index.js exports no worker: export default { fetch(request, env, ctx) { … } }, and no http.Server listens'

function workerContext({ around, background }: Loading): WorkerContext {
  const { info, storage, identityToken, secrets } = around
  return {
    waitUntil: (promise: unknown) =>
      background(Promise.resolve(promise).catch((cause) => console.error('waitUntil', cause))),
    passThroughOnException: () => undefined,
    storage,
    info,
    identityToken,
    secrets,
  }
}

/** A handler that the source exports is the only one. @throws Error if a server listens, too */
function alone(servers: Servers, serve: Serve): Serve {
  const port = servers.port()
  if (port !== undefined)
    throw new Error(
      `index.js exports a handler, and its http.Server listens on port ${port}: a function has one of them`,
    )
  servers.refuse('a function that exports a handler has no server')
  return serve
}

/**
 * The server that answers the requests of a source without a handler for them. A program may listen after its top level has run, for example when it is
 * connected to its database: it is loaded when it listens.
 *
 * @param hasScheduled whether it handles events; then it may have no server
 * @param missing why it has nothing that answers
 */
async function serverOf(
  { around, background, servers }: Loading,
  start: StartFailures,
  hasScheduled: boolean,
  missing: string,
): Promise<Serve> {
  if (!servers.canListen() && !hasScheduled) throw new Error(missing)
  if (servers.canListen()) await start.whenDone(hasScheduled ? undefined : servers.listening)
  const context = workerContext({ around, background, servers })
  return async (request) =>
    servers.port() === undefined && hasScheduled
      ? answersNothing()
      : servers.serve(request, around.env, context)
}

/** A worker may have no handler but the one for `scheduled`. */
const answersNothing = (): Response =>
  Response.json(
    { error: { code: 404, reason: 'not_found', message: 'this function answers no requests' } },
    { status: 404 },
  )
