import {
  noSockets,
  openSockets,
  type ScheduledEvent,
  type StartOrder,
  type StorageChange,
} from '../control.ts'
import { joined } from './bytes.ts'
import { type Channel, type Order, openChannel } from './channel.ts'
import { type DenoServer, deno } from './deno.ts'
import { setCaches, setProcess } from './globals.ts'
import type { Surroundings } from './handler.ts'
import { type Handlers, loadScript } from './load.ts'
import { offerModules } from './modules.ts'
import { createFetch, createRuntimeFetch } from './outbound.ts'
import { decode, later, log, OwnMap } from './own.ts'
import { offerServers } from './servers/offer.ts'
import { offerSockets } from './sockets/offer.ts'
import { openTunnel } from './sockets/tunnel.ts'
import { placeOf } from './stack-traces.ts'
import { createStorage, type HeldStorage } from './storage.ts'
import { hostWasm } from './wasm.ts'

interface Loaded extends Handlers {
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
    else if ('scheduled' in order) inTheBackground(answerScheduled(channel, current, order.scheduled, order))
    else if ('stop' in order) void stop()
    else storage?.apply(order as StorageChange)
  }

  /** The program does not stop before the task is complete. */
  function inTheBackground(task: Promise<unknown>): void {
    background.add(task)
    task.finally(() => background.delete(task))
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
      channel.send({ ready: true, ...(current.scheduled && { scheduled: true }) })
    } catch (cause) {
      log(cause)
      channel.send({ broken: whyOf(cause) })
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
    if (order.language === 'js') offerModules()
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
    const code = decode(bytes)
    const servers = offerServers()
    servers.prepare(code)
    const handlers = await loadScript(code, { around, servers, background: inTheBackground })
    return { ...handlers, storage: held }
  }

  async function stop(): Promise<void> {
    await server.shutdown()
    await Promise.allSettled(background)
    await Promise.resolve(storage?.settled()).catch(() => undefined)
    deno.exit(0)
  }
}

/** Handles an event, and sends the result. */
async function answerScheduled(
  channel: Channel,
  loaded: Loaded | undefined,
  id: number,
  event: ScheduledEvent,
): Promise<void> {
  try {
    if (!loaded?.scheduled) throw new Error('the function has no handler for "scheduled"')
    try {
      await loaded.scheduled(event)
    } finally {
      await loaded.storage.settled()
    }
    channel.send({ ran: id })
  } catch (cause) {
    channel.send({ ran: id, failed: whyOf(cause) })
    log('scheduled', cause)
  }
}

/** @param cause what the function threw, which may be anything */
function whyOf(cause: unknown): string {
  try {
    return String((cause as Error)?.message ?? cause).slice(0, 2000) + placeOf(cause)
  } catch {
    return 'it threw something that is no text'
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
