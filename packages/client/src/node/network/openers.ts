/** How connections are opened: directly or through a proxy, with TLS or without, and what is noted about those that fail. */
import type { Socket } from 'node:net'
import type { Open, Target } from './agent.ts'
import type { Contexts } from './contexts.ts'
import { hostOf, portOf } from './host-of.ts'
import { judgeName } from './judge-name.ts'
import { certificateReasons, NetworkFailure } from './network-failure.ts'
import type { Notes } from './notes.ts'
import { openTcp } from './open-tcp.ts'
import { openTls } from './open-tls.ts'
import { openTunnel } from './open-tunnel.ts'
import type { ProxyServer } from './proxy-settings.ts'
import { readSmallFile } from './small-file.ts'

/**
 * `service`: a service that the operator configured. Connections are reused, and a failure is shown in `Network.status`.
 * `registry`: a registry of images: nothing of it is stored or shown, but it may have a certificate in `clientCertificates`.
 * `foreign`: a server that another user named: nothing of it is stored or shown, and no certificate is shown to it.
 */
export type Use = 'service' | 'registry' | 'foreign'

/** How connections of an agent are opened. */
interface Way {
  /** Undefined: directly. */
  readonly server: ProxyServer | undefined
  readonly isSecure: boolean
  readonly use: Use
  /** Gets each connection that is open. */
  readonly follow: (socket: Socket) => void
}

/** Milliseconds until a direct connection must be open, and again until it is encrypted. */
const connectTimeoutMs = 30_000

interface Parts {
  readonly proxyAuthFile: string
  readonly contextFor: Contexts['contextFor']
  readonly notes: Notes
}

export interface Openers {
  /** A connection through a proxy. */
  tunnel(server: ProxyServer, target: Target, use: Use): Promise<Socket>
  /** Opens connections for requests to URLs of one protocol. */
  openerOf(way: Way): Open
  /** Names the proxy in the error of a request of which the connection was closed before its answer. */
  explainerOf(way: Pick<Way, 'server' | 'use'>): ((cause: Error, target: Target) => void) | undefined
}

export function createOpeners({ proxyAuthFile, contextFor, notes }: Parts): Openers {
  async function tunnel(
    { url, credentials }: ProxyServer,
    { host, port, lookup, isTcp, timeoutMs }: Target,
    use: Use,
  ): Promise<Socket> {
    const name = String(host)
    if (lookup) await judgeName(name, lookup)
    const open = async () =>
      openTunnel({
        ...{ proxy: url, host: name, port: Number(port), tls: contextFor(hostOf(url), portOf(url), true) },
        ...(isTcp && { isTcp }),
        ...(timeoutMs !== undefined && { timeoutMs }),
        credentials: proxyAuthFile === '' ? credentials : readSignIn(proxyAuthFile),
      })
    const isShown = (reason: string) =>
      ofProxy.has(reason) || (use === 'service' && reason === 'proxy_timeout')
    return notes.about(url.origin, isShown, open())
  }

  function openerOf({ server, isSecure, use, follow }: Way): Open {
    return async (target) => {
      const { servername, lookup, rejectUnauthorized, timeoutMs = connectTimeoutMs, signal } = target
      const to = { host: String(target.host), port: Number(target.port) }
      const socket = await (server
        ? tunnel(server, target, use)
        : openTcp({ ...to, lookup, timeoutMs, signal }))
      follow(socket)
      const giveUp = () => void socket.destroy(signal?.reason)
      signal?.addEventListener('abort', giveUp, { once: true })
      if (signal?.aborted) giveUp()
      if (!isSecure) return socket
      const opening = openOver(socket, async () =>
        openTls({
          ...{ ...to, socket, timeoutMs, acceptsAny: rejectUnauthorized === false },
          ...contextFor(to.host, to.port, use !== 'foreign'),
          ...(servername && { servername }),
          ...(server && { through: server.url.origin }),
        }),
      )
      return notes.about(`${to.host}:${to.port}`, () => use === 'service', opening)
    }
  }

  function explainerOf({ server, use }: Pick<Way, 'server' | 'use'>) {
    if (!server) return undefined
    const { origin } = server.url
    return (cause: Error, { host, port }: Target) => {
      cause.message = `the connection to ${host}:${port} through the proxy ${origin} was closed before the answer came. The proxy may close connections that wait for an answer: ask who runs it for a longer limit, or add this host to network.noProxy`
      if (use === 'service') notes.failed(origin, cause.message)
    }
  }

  return { tunnel, openerOf, explainerOf }
}

/** Opens a connection over another one, which is closed if that fails. */
async function openOver(below: Socket | undefined, open: () => Promise<Socket>): Promise<Socket> {
  try {
    return await open()
  } catch (cause) {
    below?.destroy()
    throw cause
  }
}

/** Reasons about the proxy itself: no server that another user named can cause them. */
const ofProxy: ReadonlySet<string> = new Set([
  'proxy_unreachable',
  'proxy_credentials',
  'proxy_sign_in_page',
  ...certificateReasons,
  'client_certificate',
])

/** Bytes of a user name and a password. */
const maxSignInBytes = 4096

/** @throws NetworkFailure `proxy_credentials`: the message has nothing of the file */
function readSignIn(path: string): string {
  const refuse = (why: string) =>
    new NetworkFailure('proxy_credentials', `network.proxyAuthFile ${path} ${why}`)
  let text: string
  try {
    text = readSmallFile(path, maxSignInBytes).trim()
  } catch (cause) {
    throw refuse(`can't be read: ${(cause as Error).message}`)
  }
  if (/^[^:\r\n]+:[^\r\n]*$/.test(text)) return text
  throw refuse('has another form: expected one line such as user:password')
}
