import type { StartOrder } from '../control.ts'
import { type Channel, openChannel } from './channel.ts'
import { deno } from './deno.ts'
import type { Surroundings } from './handler.ts'
import { loadScript } from './load.ts'
import { createFetch } from './outbound.ts'
import { createStorage, type HeldStorage } from './storage.ts'
import { hostWasm } from './wasm.ts'

/** Hosts the function that the runtime hands over, until it says stop or is gone. */
export async function hostFunction([
  control = '',
  service = '',
  host = '',
]: readonly string[]): Promise<void> {
  const background = new Set<Promise<unknown>>()
  const started = Promise.withResolvers<StartOrder>()
  let storage: HeldStorage | undefined
  let server: { shutdown(): Promise<void> } | undefined

  const channel: Channel = await openChannel(control, (order) => {
    if ('start' in order) started.resolve(order.start)
    else if ('changed' in order) storage?.apply(order.changed)
    else if ('ping' in order) channel.send({ pong: order.ping })
    else void stop()
  })

  async function stop(): Promise<void> {
    await server?.shutdown()
    await Promise.allSettled(background)
    await Promise.resolve(storage?.settled()).catch(() => undefined)
    deno.exit(0)
  }

  async function load(order: StartOrder, held: HeldStorage) {
    const fetch = createFetch(host)
    globalThis.fetch = fetch
    const around: Surroundings = {
      env: order.env,
      info: order.info,
      storage: held.storage,
      fetch,
      identityToken: (audience) => channel.ask((identify) => ({ identify, audience: String(audience) })),
    }
    if (order.language === 'wasm') return hostWasm(decodeBase64(order.source), around)
    return loadScript(order.source, around, (task) => {
      background.add(task)
      task.finally(() => background.delete(task))
    })
  }

  try {
    const order = await started.promise
    const held = createStorage(
      order.storage,
      order.quota,
      (change) => channel.ask((write) => ({ write, change })),
      endAfterFailure,
    )
    storage = held
    const serve = await load(order, held)
    server = deno.serve(
      { path: service, onListen: () => channel.send({ ready: true }), onError: answerFailure },
      async (request) => {
        const response = await serve(request)
        const unsettled = held.settled()
        if (unsettled) await unsettled
        return response
      },
    )
  } catch (cause) {
    console.error(cause)
    channel.send({ broken: (cause as Error)?.message ?? String(cause) })
  }
}

/** Uint8Array.fromBase64 of ECMAScript 2026, which the compiler does not know yet. */
const decodeBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  (Uint8Array as unknown as { fromBase64(text: string): Uint8Array<ArrayBuffer> }).fromBase64(text)

/** Memory and disk differ from here on: this program ends, and the next one begins with what is on the disk. */
function endAfterFailure(cause: unknown): void {
  console.error('storage', cause)
  setTimeout(() => deno.exit(1), 100)
}

/** What it is that failed is for the log. */
function answerFailure(cause: unknown): Response {
  console.error(cause)
  const message = 'the service failed; its log has the cause'
  return Response.json({ error: { code: 500, reason: 'service_failed', message } }, { status: 500 })
}
