/** How this program reaches other machines: through a proxy or directly, and which authorities it trusts. */
import type { Agent } from 'node:http'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { createAgent, type OpeningAgent } from './agent.ts'
import { openContexts } from './contexts.ts'
import { hostOf, portOf } from './host-of.ts'
import type { NetworkFailure } from './network-failure.ts'
import { isLocal } from './no-proxy.ts'
import { createNotes } from './notes.ts'
import { openTcp } from './open-tcp.ts'
import { createOpeners, type Use } from './openers.ts'
import { readProxySettings } from './proxy-settings.ts'
import { systemAuthorities } from './system-authorities.ts'
import { createUsageCount, type Usage } from './usage.ts'

export interface NetworkOptions {
  /** URL of the proxy; `direct`: no proxy; empty: `HTTPS_PROXY` and `HTTP_PROXY` of the environment. */
  readonly proxy?: string
  /** File with `user:password` for the proxy. It is read for each connection. */
  readonly proxyAuthFile?: string
  /** Hosts, suffixes, addresses and networks that are reached directly; empty: `NO_PROXY` of the environment. */
  readonly noProxy?: readonly string[]
  /** File of authorities (PEM) in addition to those of Node and of the system. */
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
  /** For `agent` of a request to a URL. It tries all addresses of a name side by side (RFC 8305). */
  agentFor(url: URL | string, use: Use): Agent
  /** Whether a URL is reached through a proxy, which resolves its name. */
  isProxied(url: URL | string): boolean
  /**
   * Whether a service can be reached now: a connection to it opens within 4 s, through the proxy and with its certificate where there
   * are such, and is closed again. No request is sent.
   */
  reaches(url: URL | string): Promise<boolean>
  /**
   * Opens a TCP connection for a host that another user named: nothing of it is stored or shown. One direction may end before the other.
   *
   * @throws (it rejects with) NetworkFailure; Error of the lookup or of the connection, with a code
   */
  connectTo(target: ConnectTarget): Promise<Socket>
  /**
   * Closes connections to services: requests on them fail. To be called when a service can be reached and a request has no answer: what was
   * sent on a connection from before may be lost, and TCP sends it again only after half a minute.
   *
   * @param which all, with those that are being opened; or those that had waited for a request, which a change of the network breaks unnoticed
   */
  renew(which: 'all' | 'reused'): void
  /**
   * For an answer of a service.
   *
   * @param problem why it is no answer of the service, which the status has then; undefined: it is
   */
  noteAnswer(url: URL | string, problem: NetworkFailure | undefined): void
  /** The same network for connections that are counted for something, such as `images`. Without a purpose they are counted as `other`. */
  for(purpose: string): Network
  /** Bytes since the start, for each purpose: what TCP carries, with TLS. Connections to this machine are not counted. */
  usage(): Readonly<Record<string, Usage>>
  status(): NetworkStatus
}

interface ConnectTarget {
  /** Name or address, without brackets. */
  readonly host: string
  readonly port: number
  /** Refuses addresses that must not be connected to. */
  readonly lookup: LookupFunction
  /** Whether no proxy is used, such as for an address of the own network; otherwise that for https, if there is one. */
  readonly isDirect: boolean
  /** Gives up a direct connection; one through a proxy has a time limit of its own. */
  readonly signal: AbortSignal
}

/** Milliseconds of one check whether a service can be reached: a packet that is lost twice is sent again within them. */
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
  const { authorities, contextFor } = openContexts({
    ...{ caFile, clientCertificates, system: systemAuthorities(env) },
  })
  const agents = new Map<string, OpeningAgent>()
  const notes = createNotes()
  const { tunnel, openerOf, explainerOf } = createOpeners({ proxyAuthFile, contextFor, notes })
  const usage = createUsageCount()

  const followFor = (url: URL, purpose: string) => (socket: Socket) => {
    if (!isLocal(url)) usage.follow(purpose, socket)
  }

  function agentFor(given: URL | string, use: Use, purpose: string): Agent {
    const url = typeof given === 'string' ? new URL(given) : given
    const server = proxyFor(url)
    const isSecure = url.protocol === 'https:'
    const isOwn = isLocal(url)
    const key = `${purpose} ${use} ${url.protocol} ${isOwn} ${server?.url.origin ?? ''}`
    const known = agents.get(key)
    if (known) return known
    // A proxy closes connections that wait. A request is never sent on one that it may be closing.
    const settings = { keepAlive: use === 'service' && !server, keepAliveMsecs: probeMs }
    const follow = followFor(url, purpose)
    const open = openerOf({ server, isSecure, use, follow })
    const agent = createAgent(settings, isSecure, open, explainerOf({ server, use }))
    agents.set(key, agent)
    return agent
  }

  const forPurpose = (purpose: string): Network => ({
    agentFor: (url, use) => agentFor(url, use, purpose),
    isProxied: (url) => proxyFor(new URL(url)) !== undefined,
    reaches(text) {
      const url = new URL(text)
      const follow = followFor(url, purpose)
      const isSecure = url.protocol === 'https:'
      const open = openerOf({ server: proxyFor(url), isSecure, use: 'service', follow })
      return opens(open({ host: hostOf(url), port: portOf(url), timeoutMs: reachTimeoutMs }))
    },
    async connectTo({ isDirect, signal, ...target }) {
      const url = urlOf(target)
      const server = isDirect ? undefined : proxyFor(url)
      const socket = server
        ? await tunnel(server, { ...target, isTcp: true }, 'foreign')
        : await openTcp({ ...target, allowHalfOpen: true, signal })
      if (server || !isLocal(url)) usage.follow(purpose, socket)
      return socket
    },
    renew(which) {
      for (const [key, agent] of agents)
        if (key.startsWith(`${purpose} service `)) which === 'all' ? agent.destroy() : agent.destroyReused()
    },
    noteAnswer(text, problem) {
      const name = `answer of ${new URL(text).host}`
      if (problem) notes.failed(name, problem.message)
      else notes.passed(name)
    },
    for: forPurpose,
    usage: usage.read,
    status: () => ({
      proxy: proxyFor(new URL('https://host.invalid'))?.url.origin,
      problem: notes.problem() ?? authorities.problem(),
    }),
  })
  return forPurpose('other')
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

const urlOf = ({ host, port }: { readonly host: string; readonly port: number }): URL =>
  new URL(`https://${isIP(host) === 6 ? `[${host}]` : host}:${port}`)

/**
 * Milliseconds without data until TCP probes an idle connection. Node's own second costs 11 MB a day for each
 * connection that waits.
 */
const probeMs = 60_000
