/**
 * Outgoing TCP connections of functions, to the hosts and ports that `MCM.OUTBOUND` lists. Each is a CONNECT request on the
 * instance's own socket. The address that is checked is the address that is connected to, as for `fetch`.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { AddressRefusedError, type Resolve, resolveName } from '@selvedge/service-kit/addresses'
import type { Network } from '@selvedge/service-kit/network'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import { createWorkCount } from '@selvedge/service-kit/work'
import { type Dialled, dial } from './dial.ts'
import { codeOf, relay } from './relay.ts'
import { readTarget } from './target.ts'

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
  readonly network: Pick<Network, 'connectTo'>
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
  network,
  resolve = resolveName,
  limits = tunnelLimits,
}: TunnelParts): Tunnels {
  const count = createWorkCount()
  const clients = new Set<Duplex>()

  /** Counts a connection until both of its sides are closed. */
  function begin(client: Duplex, { opened }: Dialled): void {
    const end = count.begin()
    clients.add(client)
    let isOpen = true
    const onClose = safely('tunnel.end', () => {
      if (client.destroyed) clients.delete(client)
      if (client.destroyed && !isOpen) end()
    })
    const onUpstreamClose = safely('tunnel.upstream-end', () => {
      isOpen = false
      onClose()
    })
    client.once('close', onClose)
    const opening = opened.then((socket) => socket.once('close', onUpstreamClose), onUpstreamClose)
    inBackground('tunnel.begin', opening)
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
      const dialled = dial(target, { network, resolve })
      begin(client, dialled)
      inBackground('tunnel.join', join(client, dialled, head, limits))
    },
    close() {
      for (const client of clients) client.destroy()
    },
  }
}

/** Connects both sides once the upstream is open. A function that has closed by then closes it. */
async function join(
  client: Duplex,
  dialled: Dialled,
  head: Buffer,
  { openMs, idleMs, probeMs }: typeof tunnelLimits,
): Promise<void> {
  const abandon = safely('tunnel.abandon', () => {
    dialled.cancel()
    client.destroy()
  })
  client.on('end', abandon)
  client.on('close', abandon)
  // Notices that the function has closed; reads no more than one buffer.
  client.read(0)
  try {
    const upstream = await openWithin(dialled, openMs)
    if (client.destroyed) return void upstream.destroy()
    client.off('end', abandon)
    client.off('close', abandon)
    upstream.setTimeout(
      idleMs,
      safely('tunnel.idle', () => upstream.destroy(idleError())),
    )
    client.write('HTTP/1.1 200 Connection established\r\n\r\n', 'latin1')
    relay(client, upstream, probeMs)
    // One through a proxy waits for its reader.
    upstream.resume()
    if (head.length > 0) client.unshift(head)
    client.resume()
  } catch (cause) {
    refuseFor(client, cause as NodeJS.ErrnoException)
  }
}

/** @throws Error `ETIMEDOUT` after so many milliseconds; the connection is closed then, whenever it is open */
async function openWithin({ opened, cancel }: Dialled, ms: number): Promise<Socket> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    safely('tunnel.late', () => {
      const why = `it was not connected within ${ms / 1000} s`
      late.reject(Object.assign(new Error(why), { code: 'ETIMEDOUT', isOurs: true }))
    }),
    ms,
  )
  try {
    return await Promise.race([opened, late.promise])
  } catch (cause) {
    opened.then(
      (socket) => socket.destroy(),
      () => undefined,
    )
    cancel()
    throw cause
  } finally {
    clearTimeout(timer)
  }
}

/** Sentences that are for the function: those of this runtime, and of a proxy. */
function refuseFor(client: Duplex, cause: NodeJS.ErrnoException & { readonly isOurs?: boolean }): void {
  if (cause instanceof AddressRefusedError) refuse(client, 'EACCES', cause.message)
  else if (cause.name === 'NetworkFailure') refuse(client, codeOf(cause), cause.message)
  else refuse(client, codeOf(cause), cause.isOurs ? cause.message : '')
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
