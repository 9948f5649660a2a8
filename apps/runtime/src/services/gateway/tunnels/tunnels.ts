/**
 * Outgoing TCP connections of functions, to the hosts and ports that `MCM.OUTBOUND` lists. Each is a CONNECT request on the
 * instance's own socket. The address that is checked is the address that is connected to, as for `fetch`.
 */
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  AddressRefusedError,
  guardedLookup,
  kindOf,
  type Resolve,
  resolveName,
} from '@selvedge/service-kit/addresses'
import { safely } from '@selvedge/service-kit/safely'
import { createWorkCount } from '@selvedge/service-kit/work'
import { codeOf, relay } from './relay.ts'
import { readTarget, type Target } from './target.ts'

export const tunnelLimits = {
  /** Connections of one instance. */
  connections: 64,
  /** Milliseconds until a connection must be open, with the name server's answer. */
  openMs: 30_000,
  /** Milliseconds without a byte in either direction. */
  idleMs: 3_600_000,
  /** Milliseconds between two probes of a function, while its bytes are not accepted. */
  probeMs: 5000,
  /** Milliseconds until a refusal of the limit is sent: a function that repeats it at once must not cost CPU. */
  refuseAfterMs: 1000,
}

export interface TunnelParts {
  readonly outbound: readonly string[]
  /** Whether a URL belongs to this runtime's own listener. */
  readonly isOwnUrl: (url: URL) => boolean
  /** For tests. */
  readonly resolve?: Resolve
  /** For tests. */
  readonly limits?: typeof tunnelLimits
}

export interface Tunnels {
  /** @param head bytes that came behind the request already */
  open(request: IncomingMessage, client: Duplex, head: Buffer): void
  /** Closes all connections. */
  close(): void
}

/** The connections of one instance. */
export function createTunnels({
  outbound,
  isOwnUrl,
  resolve = resolveName,
  limits = tunnelLimits,
}: TunnelParts): Tunnels {
  const count = createWorkCount()
  const clients = new Set<Duplex>()

  function begin(client: Duplex, upstream: Socket): void {
    const end = count.begin()
    clients.add(client)
    const onClose = safely('tunnel.end', () => {
      if (client.destroyed && upstream.destroyed) end()
    })
    client.once('close', onClose)
    client.once('close', () => clients.delete(client))
    upstream.once('close', onClose)
  }

  return {
    open(request, client, head) {
      client.on('error', () => client.destroy())
      if (client.destroyed) return
      const target = readTarget(request.url ?? '', outbound, isOwnUrl)
      if (typeof target === 'string') return refuse(client, 'EACCES', target)
      if (count.underWay >= limits.connections) {
        const why = `the function has ${limits.connections} connections, the limit; close one first`
        setTimeout(
          safely('tunnel.refuse', () => refuse(client, 'EMFILE', why)),
          limits.refuseAfterMs,
        ).unref()
        return
      }
      const upstream = dial(target, resolve)
      begin(client, upstream)
      join(client, upstream, head, limits)
    },
    close() {
      for (const client of clients) client.destroy()
    },
  }
}

const dial = ({ host, port }: Target, resolve: Resolve): Socket =>
  connect({
    host,
    port,
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    lookup: guardedLookup(
      (address) => kindOf(address) === 'public',
      resolve,
      'list the address itself if it is meant',
    ),
  })

/** Connects both sides once the upstream is open. A function that has closed by then closes it. */
function join(
  client: Duplex,
  upstream: Socket,
  head: Buffer,
  { openMs, idleMs, probeMs }: typeof tunnelLimits,
): void {
  let failure: { readonly code: string; readonly why: string } | undefined
  const giveUp = safely('tunnel.late', () => {
    failure = { code: 'ETIMEDOUT', why: `it was not connected within ${openMs / 1000} s` }
    upstream.destroy()
  })
  const late = setTimeout(giveUp, openMs)
  const abandon = safely('tunnel.abandon', () => {
    clearTimeout(late)
    upstream.destroy()
    client.destroy()
  })
  const onError = safely('tunnel.error', (cause: Error) => {
    const isRefused = cause instanceof AddressRefusedError
    failure ??= { code: isRefused ? 'EACCES' : codeOf(cause), why: isRefused ? cause.message : '' }
  })
  const onClose = safely('tunnel.failed', () => {
    clearTimeout(late)
    if (!client.destroyed) refuse(client, failure?.code ?? 'ECONNRESET', failure?.why ?? '')
  })
  const start = () => {
    clearTimeout(late)
    upstream.off('error', onError)
    upstream.off('close', onClose)
    client.off('end', abandon)
    client.off('close', abandon)
    upstream.setTimeout(
      idleMs,
      safely('tunnel.idle', () => upstream.destroy(idleError())),
    )
    client.write('HTTP/1.1 200 Connection established\r\n\r\n', 'latin1')
    relay(client, upstream, probeMs)
    if (head.length > 0) client.unshift(head)
    client.resume()
  }
  upstream.on('error', onError)
  upstream.on('close', onClose)
  upstream.on('connect', safely('tunnel.connect', start, abandon))
  client.on('end', abandon)
  client.on('close', abandon)
  // Notices that the function has closed; reads no more than one buffer.
  client.read(0)
}

const idleError = (): Error => Object.assign(new Error('no data'), { code: 'ETIMEDOUT' })

/** Answers a request that leads nowhere, and closes its connection. */
function refuse(client: Duplex, code: string, why: string): void {
  if (client.destroyed) return
  const shown = why.slice(0, 2000).replaceAll(/[^\x20-\x7e]/g, '?')
  const status = code === 'EACCES' ? '403 Forbidden' : '502 Bad Gateway'
  client.end(
    `HTTP/1.1 ${status}\r\nX-Selvedge-Error: ${code}\r\nX-Selvedge-Refused: ${shown}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    'latin1',
    () => client.destroy(),
  )
}
