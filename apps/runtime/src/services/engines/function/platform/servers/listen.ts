/**
 * `listen` of an `http.Server` of the function: no port is opened. The server that listens gets the requests of the service. Everything else of the class
 * stays Node's: `address()`, `listening`, `close()` and their events work on what takes the place of a handle of the system here.
 */
import { nextTick } from '../sockets/node.ts'
import { portOf } from '../sockets/plain.ts'
import type { ListenOptions, NodeNetOfServers, NodeServer } from './node.ts'

/** The platform follows no asynchronous resource of these servers: all have the id of the first one. */
const asyncId = 1

/** What `listen(0)` finds: no port is opened, so any number is free. */
const freePort = 8080

/** The server that listens. */
export interface Slot {
  server: NodeServer | undefined
  /** Its port, as the function gave it. */
  port: number
  /** Why no server may listen; undefined while one may. */
  refusal: string | undefined
  /** Called when a server listens, after its own listeners. */
  onListening(): void
}

/** @param slot is changed as servers listen and close */
export function replaceListen(prototype: NodeServer, net: NodeNetOfServers, slot: Slot): void {
  const { listen: listenBefore } = prototype
  prototype.listen = function (this: NodeServer, ...given: unknown[]) {
    const [options, listener] = net._normalizeArgs(given)
    // Unix sockets and handles: the platform refuses them.
    if (!isPort(options, given)) return listenBefore.apply(this, given)
    if (this._handle)
      throw Object.assign(new Error('Listen method has been called more than once without closing.'), {
        code: 'ERR_SERVER_ALREADY_LISTEN',
      })
    const port = portOf(typeof options.port === 'function' ? 0 : (options.port ?? 0))
    if (typeof listener === 'function') this.once('listening', listener)
    const why = slot.refusal ?? whyOccupied(slot)
    if (why === undefined) begin(this, slot, port || freePort, options)
    else nextTick(() => this.emit('error', refused(port, why)))
    return this
  }
}

const isPort = (options: ListenOptions, [first]: readonly unknown[]): boolean =>
  first === undefined ||
  first === null ||
  typeof first === 'function' ||
  ('port' in options && options.fd === undefined && options.path === undefined && !('_handle' in options))

const whyOccupied = ({ server, port }: Slot): string | undefined =>
  server && `a function has one server, and one listens on port ${port} already`

function refused(port: number, why: string): Error {
  const error = new Error(`listen EACCES: port ${port}: ${why}`)
  return Object.assign(error, { name: 'NotCapable', code: 'EACCES', syscall: 'listen', port })
}

function begin(server: NodeServer, slot: Slot, port: number, { host, signal }: ListenOptions): void {
  const handle = createHandle(port, host, () => {
    if (slot.server === server) slot.server = undefined
  })
  server._handle = handle
  slot.server = server
  slot.port = port
  if (signal?.aborted) nextTick(() => server.close())
  else signal?.addEventListener('abort', () => server.close(), { once: true })
  nextTick(() => {
    if (server._handle !== handle) return
    server.emit('listening')
    slot.onListening()
  })
}

/** In place of a handle of the system. */
const createHandle = (port: number, host: string | undefined, onClose: () => void) => ({
  getAsyncId: () => asyncId,
  getsockname(shown: object): number {
    Object.assign(shown, { ...addressOf(host), port })
    return 0
  },
  close(done?: () => void): void {
    onClose()
    if (done) nextTick(done)
  },
  ref: () => undefined,
  unref: () => undefined,
})

/** The address that Node.js would report for the host of `listen`. */
function addressOf(host: string | undefined): { readonly address: string; readonly family: string } {
  if (host === undefined || host.includes(':')) return { address: host ?? '::', family: 'IPv6' }
  return { address: /^[\d.]+$/.test(host) ? host : '127.0.0.1', family: 'IPv4' }
}
