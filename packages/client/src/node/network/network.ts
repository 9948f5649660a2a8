/** How this program reaches other machines: through a proxy or directly, and which authorities it trusts. */
import type { Agent } from 'node:http'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { createAgent, type Open, type Target } from './agent.ts'
import { openContexts } from './contexts.ts'
import { hostOf, portOf } from './host-of.ts'
import { judgeName } from './judge-name.ts'
import { NetworkFailure } from './network-failure.ts'
import { openTcp } from './open-tcp.ts'
import { openTls } from './open-tls.ts'
import { openTunnel } from './open-tunnel.ts'
import { type ProxyServer, readProxySettings } from './proxy-settings.ts'
import { readSmallFile } from './small-file.ts'

/**
 * `service`: a service that the operator configured. Connections are reused, and a failure is shown in {@link Network.status}.
 * `registry`: a registry of images: nothing of it is stored or shown, but it may have a certificate in `clientCertificates`.
 * `foreign`: a server that another user named: nothing of it is stored or shown, and no certificate is shown to it.
 */
export type Use = 'service' | 'registry' | 'foreign'

export interface NetworkOptions {
  /** URL of the proxy; `direct`: no proxy; empty: `HTTPS_PROXY` and `HTTP_PROXY` of the environment. */
  readonly proxy?: string
  /** File with `user:password` for the proxy. It is read for each connection. */
  readonly proxyAuthFile?: string
  /** Hosts, suffixes, addresses and networks that are reached directly; empty: `NO_PROXY` of the environment. */
  readonly noProxy?: readonly string[]
  /** File of authorities (PEM) in addition to those of Node. */
  readonly caFile?: string
  /**
   * Certificates for servers and proxies that want one: `host=path` or `host:port=path`, with a file (PEM) of the certificate, its
   * chain and its key. It is read for each connection.
   */
  readonly clientCertificates?: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface NetworkStatus {
  /** URL of the proxy for https, without a password; undefined: no proxy. */
  readonly proxy: string | undefined
  /** The last failure, until a connection of the same kind succeeds, or what is wrong with the file of authorities. */
  readonly problem: string | undefined
}

export interface Network {
  /** For `agent` of a request to a URL; undefined: Node's own, directly and without TLS. */
  agentFor(url: URL | string, use: Use): Agent | undefined
  /** Whether a URL is reached through a proxy, which resolves its name. */
  isProxied(url: URL | string): boolean
  /**
   * Whether a service can be reached now: a connection to it opens within 4 s, through the proxy and with its certificate where there
   * are such, and is closed again. No request is sent.
   */
  reaches(url: URL | string): Promise<boolean>
  /**
   * Opens a TCP connection through the proxy for https, for a host that another user named: nothing of it is stored or shown. Undefined:
   * the host is reached directly.
   *
   * @param target `lookup` refuses addresses that must not be connected to
   * @throws (it rejects with) NetworkFailure, or Error of the lookup
   */
  tunnelTo(target: {
    readonly host: string
    readonly port: number
    readonly lookup: LookupFunction
  }): Promise<Socket> | undefined
  status(): NetworkStatus
}

/** Milliseconds until a connection must be open. */
const connectTimeoutMs = 15_000
/** Milliseconds of one look whether a service can be reached: a packet that is lost twice is sent again within them. */
const reachTimeoutMs = 4000

/**
 * @throws NetworkSettingError for a setting that cannot be used
 *
 * @example
 * ```ts
 * import { createNetwork, createNodeFetch } from '@selvedge/client/node'
 *
 * const network = createNetwork({ proxy: 'http://proxy.example:3128', caFile: '/etc/company-ca.pem' })
 * const fetch = createNodeFetch({ network })
 * ```
 */
export function createNetwork(options: NetworkOptions = {}): Network {
  const { proxy = '', proxyAuthFile = '', noProxy = [], caFile = '', env = process.env } = options
  const { clientCertificates = [] } = options
  const proxyFor = readProxySettings({ proxy, noProxy, env })
  const { authorities, contextFor } = openContexts({ caFile, clientCertificates })
  const notes = createNotes()

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

  /** A connection for requests to URLs of one protocol. */
  function openerOf(server: ProxyServer | undefined, isSecure: boolean, use: Use): Open {
    return async (target) => {
      const below = server && (await tunnel(server, target, use))
      const to = { host: String(target.host), port: Number(target.port) }
      if (!isSecure) return below ?? openTcp({ timeoutMs: connectTimeoutMs, ...target, ...to })
      const { servername, lookup, rejectUnauthorized, timeoutMs } = target
      const opening = openOver(below, async () =>
        openTls({
          ...to,
          ...contextFor(to.host, to.port, use !== 'foreign'),
          ...(servername && { servername }),
          acceptsAny: rejectUnauthorized === false,
          ...(timeoutMs !== undefined && { timeoutMs }),
          ...(below ? { socket: below, through: server.url.origin } : lookup && { lookup }),
        }),
      )
      return notes.about(`${to.host}:${to.port}`, () => use === 'service', opening)
    }
  }

  return {
    agentFor: createAgents(proxyFor, openerOf),
    isProxied: (url) => proxyFor(new URL(url)) !== undefined,
    async reaches(text) {
      const url = new URL(text)
      const open = openerOf(proxyFor(url), url.protocol === 'https:', 'service')
      return opens(open({ host: hostOf(url), port: portOf(url), timeoutMs: reachTimeoutMs }))
    },
    tunnelTo(target) {
      const server = proxyFor(urlOf(target))
      return server && tunnel(server, { ...target, isTcp: true }, 'foreign')
    },
    status: () => ({
      proxy: proxyFor(new URL('https://host.invalid'))?.url.origin,
      problem: notes.problem() ?? authorities.problem(),
    }),
  }
}

/** Agents by use, protocol and proxy. @param openerOf opens connections for requests to URLs of one protocol */
function createAgents(
  proxyFor: (url: URL) => ProxyServer | undefined,
  openerOf: (server: ProxyServer | undefined, isSecure: boolean, use: Use) => Open,
): Network['agentFor'] {
  const agents = new Map<string, Agent>()
  return (given, use) => {
    const url = typeof given === 'string' ? new URL(given) : given
    const server = proxyFor(url)
    const isSecure = url.protocol === 'https:'
    if (!server && !isSecure) return undefined
    const key = `${use} ${url.protocol} ${server?.url.origin ?? ''}`
    const known = agents.get(key)
    if (known) return known
    // A proxy closes connections that wait. A request is never sent on one that it may be closing.
    const settings = { keepAlive: use === 'service' && !server }
    const agent = createAgent(settings, isSecure, openerOf(server, isSecure, use))
    agents.set(key, agent)
    return agent
  }
}

/** Whether a connection opens; it is closed again. */
const opens = (opening: Promise<Socket>): Promise<boolean> =>
  opening.then(
    (socket) => {
      socket.destroy()
      return true
    },
    () => false,
  )

/** Connections over plain HTTP, without a proxy, that are reused. */
export const createDirectAgent = (): Agent =>
  createAgent({ keepAlive: true }, false, ({ host, port, lookup }) =>
    openTcp({ host: String(host), port: Number(port), lookup, timeoutMs: connectTimeoutMs }),
  )

const urlOf = ({ host, port }: { readonly host: string; readonly port: number }): URL =>
  new URL(`https://${isIP(host) === 6 ? `[${host}]` : host}:${port}`)

/** Opens a connection over another one, which is closed if that fails. */
async function openOver(below: Socket | undefined, open: () => Promise<Socket>): Promise<Socket> {
  try {
    return await open()
  } catch (cause) {
    below?.destroy()
    throw cause
  }
}

/** The last failure, until the same connection can be opened. */
function createNotes() {
  let noted: { readonly name: string; readonly message: string } | undefined
  return {
    problem: () => noted?.message,
    /** @param name of a server or proxy @param isShown whether a failure is noted */
    async about<T>(name: string, isShown: (reason: string) => boolean, opening: Promise<T>): Promise<T> {
      try {
        const opened = await opening
        if (noted?.name === name) noted = undefined
        return opened
      } catch (cause) {
        if (cause instanceof NetworkFailure && isShown(cause.reason)) noted = { name, message: cause.message }
        throw cause
      }
    },
  }
}

/** Reasons about the proxy itself: no server that another user named can cause them. */
const ofProxy: ReadonlySet<string> = new Set([
  'proxy_unreachable',
  'proxy_credentials',
  'proxy_sign_in_page',
  'certificate_expired',
  'certificate_name',
  'certificate_untrusted',
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
