import { noSockets, openSockets, type StartOrder, type StorageChange } from '../control.ts'
import { joined } from './bytes.ts'
import { type Channel, type Order, openChannel } from './channel.ts'
import { type DenoServer, deno } from './deno.ts'
import { setCaches, setProcess } from './globals.ts'
import type { Surroundings } from './handler.ts'
import { loadScript, type Serve } from './load.ts'
import { createFetch, createRuntimeFetch } from './outbound.ts'
import { decode, later, log, OwnMap } from './own.ts'
import { offerSockets } from './sockets/offer.ts'
import { openTunnel } from './sockets/tunnel.ts'
import { placeOf } from './stack-traces.ts'
import { createStorage, type HeldStorage } from './storage.ts'
import { hostWasm } from './wasm.ts'

interface Loaded {
  readonly serve: Serve
  readonly storage: HeldStorage
}

/** Hosts the function that the runtime hands over, until that sends stop or is gone. */
export async function hostFunction([
  control = '',
  service = '',
  host = '',
  sockets = noSockets,
]: readonly string[]): Promise<void> {
  const background = new Set<Promise<unknown>>()
  const loaded = Promise.withResolvers<Loaded>()
  let start: StartOrder | undefined
  let storage: HeldStorage | undefined
  let current: Loaded | undefined
  const source: Uint8Array[] = []
  const secrets = new OwnMap<string, string>()

  const connection = await deno.connect({ transport: 'unix', path: control })
  const client = deno.createHttpClient({ proxy: { transport: 'unix', path: host } })
  const server: DenoServer = deno.serve(
    { path: service, onListen: () => undefined, onError: answerFailure },
    async (request) => {
      const own = current ?? (await loaded.promise)
      const response = await own.serve(request)
      const unsettled = own.storage.settled()
      if (unsettled) await unsettled
      return response
    },
  )
  const channel: Channel = openChannel(connection, receive)
  await giveUp(sockets === openSockets ? [control, service] : [control, service, host])
  channel.send({ listening: true })

  function receive(order: Order): void {
    if ('start' in order) {
      start = order.start
      storage = createStorage(order.start.quota, channel.write, endAfterFailure)
    } else if ('secret' in order) secrets.set(order.secret, order.value)
    else if ('source' in order) source[source.length] = order.source
    else if ('load' in order) void load()
    else if ('ping' in order) void answerPing(order.ping, order.mayWrite)
    else if ('stop' in order) void stop()
    else storage?.apply(order as StorageChange)
  }

  async function answerPing(ping: number, mayWrite: boolean | undefined): Promise<void> {
    if (mayWrite !== undefined) {
      storage?.setMayWrite(mayWrite)
      // A failure ends this program; it has been seen.
      await Promise.resolve(storage?.settled()).catch(() => undefined)
    }
    channel.send({ pong: ping })
  }

  async function load(): Promise<void> {
    try {
      current = await loadFunction(start!, storage!, joined(source))
      source.length = 0
      loaded.resolve(current)
      channel.send({ ready: true })
    } catch (cause) {
      log(cause)
      const why = String((cause as Error)?.message ?? cause).slice(0, 2000)
      channel.send({ broken: why + placeOf(cause) })
    }
  }

  async function loadFunction(
    order: StartOrder,
    held: HeldStorage,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<Loaded> {
    const runtimeFetch = createRuntimeFetch(client)
    const fetch = createFetch(client)
    globalThis.fetch = fetch
    setProcess(order.env)
    setCaches()
    if (order.language === 'js' && sockets === openSockets)
      offerSockets((asked) => openTunnel(host, asked)).prepare(decode(bytes))
    const around: Surroundings = {
      env: order.env,
      info: order.info,
      storage: held.storage,
      files: held.files,
      fetch,
      runtimeFetch,
      identityToken: (audience) => channel.identify(String(audience)),
      secrets: { get: (name) => secrets.get(String(name)) ?? null },
      openNodesPath: order.openNodesPath,
    }
    if (order.language === 'wasm') return { serve: await hostWasm(bytes, around), storage: held }
    const serve = await loadScript(decode(bytes), around, (task) => {
      background.add(task)
      task.finally(() => background.delete(task))
    })
    return { serve, storage: held }
  }

  async function stop(): Promise<void> {
    await server.shutdown()
    await Promise.allSettled(background)
    await Promise.resolve(storage?.settled()).catch(() => undefined)
    deno.exit(0)
  }
}

/** From here on this process can open, make or change nothing at these paths. It never could at others. */
async function giveUp(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await deno.permissions.revoke({ name: 'read', path })
    await deno.permissions.revoke({ name: 'write', path })
    await deno.permissions.revoke({ name: 'net', host: `unix:${path}` })
  }
}

/** Memory and disk differ from here on: this program ends, and the next one begins with what is on the disk. */
function endAfterFailure(cause: unknown): void {
  log('storage', cause)
  later(() => deno.exit(1), 100)
}

/** What it is that failed is for the log. */
function answerFailure(cause: unknown): Response {
  log(cause)
  const message = 'the service failed; its log has the cause'
  return Response.json({ error: { code: 500, reason: 'service_failed', message } }, { status: 500 })
}
