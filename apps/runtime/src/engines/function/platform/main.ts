/**
 * The program that hosts one function. It runs on Deno, in a sandbox, and is as little trusted as the code that it hosts: what
 * it may do is decided outside of it.
 */
import type { StartOrder } from '../control.ts'
import { openChannel } from './channel.ts'
import { deno } from './deno.ts'
import { hostHandler, type Surroundings } from './handler.ts'
import { createFetch } from './outbound.ts'
import { createStorage, type HeldStorage } from './storage.ts'
import { hostWasm } from './wasm.ts'

type Serve = (request: Request) => Promise<Response>

interface WorkerModule {
  readonly default?: {
    fetch?: (request: Request, env: object, context: object) => Response | Promise<Response>
  }
}

const [controlSocket = '', serviceSocket = '', hostSocket = ''] = deno.args
const background = new Set<Promise<unknown>>()
const started = Promise.withResolvers<StartOrder>()
let held: HeldStorage | undefined
let server: { shutdown(): Promise<void> } | undefined

const channel = await openChannel(controlSocket, (order) => {
  if ('start' in order) started.resolve(order.start)
  else if ('changed' in order) held?.apply(order.changed)
  else if ('ping' in order) channel.send({ pong: order.ping })
  else void stop()
})

// What a service throws on the side is its own affair: it is told of it in its log, and goes on.
globalThis.addEventListener('unhandledrejection', (event) => {
  event.preventDefault()
  console.error('uncaught', event.reason)
})
globalThis.addEventListener('error', (event) => {
  event.preventDefault()
  console.error('uncaught', event.error)
})

async function stop(): Promise<void> {
  await server?.shutdown()
  await Promise.allSettled(background)
  await Promise.resolve(held?.settled()).catch(() => undefined)
  deno.exit(0)
}

/** Memory and disk differ from here on: this program ends, and the next one begins with what is on the disk. */
function endAfterFailure(cause: unknown): void {
  console.error('storage', cause)
  setTimeout(() => deno.exit(1), 100)
}

/** A script that sets `mimikModule.exports`, or a module with a default export: told apart by whether it parses as a script. */
async function load(source: string, around: Surroundings): Promise<Serve> {
  let isScript = true
  try {
    new Function(source)
  } catch {
    isScript = false
  }
  if (isScript) {
    const global = globalThis as unknown as { mimikModule: { exports?: unknown } }
    global.mimikModule = {}
    // Indirect: the script runs as one, with its top level as the global scope.
    // biome-ignore lint/security/noGlobalEval: hosting code is what this program is for
    const run = globalThis.eval
    run(source)
    const handler = global.mimikModule.exports
    if (typeof handler !== 'function')
      throw new Error('index.js sets no handler: mimikModule.exports = (context, request, response) => …')
    return hostHandler(handler as never, around)
  }
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }))
  const { default: worker } = (await import(url)) as WorkerModule
  const { fetch: serve } = worker ?? {}
  if (typeof serve !== 'function')
    throw new Error('index.js exports no worker: export default { fetch(request, env, ctx) { … } }')
  const context = {
    waitUntil(promise: Promise<unknown>) {
      const task = Promise.resolve(promise).catch((cause) => console.error('waitUntil', cause))
      background.add(task)
      task.finally(() => background.delete(task))
    },
    passThroughOnException() {},
    storage: around.storage,
    info: around.info,
    identityToken: around.identityToken,
  }
  return async (request) => serve.call(worker, request, around.env, context)
}

function failure(cause: unknown): Response {
  console.error(cause)
  return Response.json(
    { error: { code: 500, reason: 'service_failed', message: 'the service failed; its log has the cause' } },
    { status: 500 },
  )
}

try {
  const { language, source, env, info, storage, quota } = await started.promise
  held = createStorage(
    storage,
    quota,
    (change) => channel.ask((write) => ({ write, change })),
    endAfterFailure,
  )
  const fetch = createFetch(hostSocket)
  globalThis.fetch = fetch
  const around: Surroundings = {
    env,
    info,
    storage: held.storage,
    fetch,
    identityToken: (audience) => channel.ask((identify) => ({ identify, audience: String(audience) })),
  }
  const bytes = Uint8Array.from(atob(source), (each) => each.charCodeAt(0))
  const serve =
    language === 'wasm' ? await hostWasm(bytes, around) : await load(new TextDecoder().decode(bytes), around)
  const { settled } = held
  server = deno.serve(
    { path: serviceSocket, onListen: () => channel.send({ ready: true }), onError: failure },
    async (request) => {
      const response = await serve(request)
      const unsettled = settled()
      if (unsettled) await unsettled
      return response
    },
  )
} catch (cause) {
  console.error(cause)
  channel.send({ broken: (cause as Error)?.message ?? String(cause) })
}
