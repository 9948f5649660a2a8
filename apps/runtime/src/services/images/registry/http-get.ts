/**
 * GET requests to a registry, and to the token and storage hosts that it names. A registry is foreign: it must not make this
 * device send requests into its own network, and no host may keep a transfer open for ever.
 */
import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import { RpcError } from '@selvedge/protocol'
import {
  type AddressKind,
  guardedLookup,
  kindOf,
  type Resolve,
  resolveName,
} from '@selvedge/service-kit/addresses'
import { type Outbound, startRequest } from '@selvedge/service-kit/network'
import { safely } from '@selvedge/service-kit/safely'
import { pullMs } from '../limits.ts'
import { type Pace, paced } from '../paced.ts'

const maxRedirects = 5
/** Interim responses (1xx) before the answer. */
const maxInterim = 16

export interface TransferLimits extends Pace {
  /** Milliseconds until the headers of an answer must be there. */
  readonly headersMs: number
  /**
   * Milliseconds until a direct connection must be open, and again until it is encrypted: the system sends the first packet again after 1, 3
   * and 7 s, and then after 15 s, which is longer than the pause until the next attempt.
   */
  readonly connectMs?: number
}

/** 1 KiB/s: the slowest mobile networks are faster. The pull has a time limit as a whole, too. */
const transferLimits: TransferLimits = {
  headersMs: 30_000,
  connectMs: 8000,
  windowMs: 60_000,
  minBytes: 60 * 1024,
  totalMs: pullMs,
}

export interface HttpGetOptions {
  /** Proxy and authorities. */
  readonly outbound: Outbound
  readonly resolve?: Resolve
  /** Hosts, with their ports, that may have an unknown certificate, or no TLS. */
  readonly insecure?: ReadonlySet<string>
  readonly limits?: TransferLimits
}

/** An answer. Its body has to be read to the end or discarded. */
export interface Answer {
  /** Of the host that answered: another one than was asked where that one redirects. */
  readonly origin: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Ends with an error when it arrives too slowly. */
  readonly body: AsyncIterable<Uint8Array>
  /** Closes the connection without reading the body. */
  discard(): void
}

/**
 * Sends a GET request and follows its redirects. `Authorization` is sent to the origin of the given URL only.
 *
 * @param form is sent with POST in place of the GET request; then a redirect is the answer, because the form has a secret
 * @throws RpcError `registry_unavailable`
 */
export type HttpGet = (
  url: string,
  headers: Readonly<Record<string, string>>,
  form?: URLSearchParams,
) => Promise<Answer>

/** Only the loopback may be spoken to without TLS, as with Docker and Podman, and hosts of `images.insecure`. */
export const isLoopbackHost = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/.test(host)

/**
 * Requests for one pull. Public addresses may be reached, and addresses of the same kind as the registry's own: a registry on
 * the local network may have its storage there, and a public one may not lead there. The registry's own name is resolved once, and
 * again after it could not be reached; then only addresses of the same kind count. Behind a proxy, a name that this device cannot resolve counts as public: the proxy decides where it leads.
 *
 * @param registry host and port as in the reference
 * @throws RpcError `registry_unavailable` when the name of the registry has no address that may be reached
 */
export async function openHttpGet(registry: string, options: HttpGetOptions): Promise<HttpGet> {
  const { resolve = resolveName, limits = transferLimits, insecure = new Set(), outbound } = options
  const { hostname } = new URL(`http://${registry}`)
  const isProxied = outbound.isProxied(`https://${registry}`)
  const home = await findHome(hostname, resolve, isProxied)
  const mayConnect = (address: string): boolean => isReachable(kindOf(address), home.kind)
  let { addresses } = home
  let mayHaveMoved = false
  const pinned: Resolve = async (name) => {
    if (name !== hostname || addresses.length === 0) return resolve(name)
    if (mayHaveMoved) {
      const found = await resolve(name).catch(() => [])
      const same = found.filter(({ address }) => kindOf(address) === home.kind)
      if (same.length > 0) addresses = same
      mayHaveMoved = false
    }
    return addresses
  }
  const lookup = guardedLookup(mayConnect, pinned)

  return async function get(url, headers, form) {
    let at = readUrl(url, url)
    let sent = headers
    for (let redirects = 0; ; redirects++) {
      expectReachable(at, mayConnect, insecure)
      const rejectUnauthorized = !insecure.has(at.host)
      // No host that a registry names gets the certificate of this device, even if the settings have one for it.
      const agent = outbound.agentFor(at, at.host === registry ? 'registry' : 'foreign')
      const timeoutMs = outbound.isProxied(at) ? undefined : limits.connectMs
      const sending = { headers: sent, lookup, rejectUnauthorized, agent, timeoutMs }
      const response = await send(at, sending, limits, form).catch((cause: RpcError) => {
        mayHaveMoved ||= at.hostname === hostname && isAway(cause.cause)
        throw cause
      })
      const { statusCode = 0 } = response
      const { location } = response.headers
      if (statusCode < 300 || statusCode >= 400 || location === undefined || form !== undefined)
        return {
          origin: at.origin,
          status: statusCode,
          headers: response.headers,
          body: timely(response, limits),
          discard: () => void response.destroy(),
        }
      response.destroy()
      if (redirects === maxRedirects) throw unavailable(url, 'it redirects too often')
      const next = readUrl(location, at.href)
      if (at.protocol === 'https:' && next.protocol !== 'https:' && !insecure.has(at.host))
        throw unavailable(at.href, `it redirects to ${next.origin}, which is not encrypted`)
      if (next.origin !== at.origin) sent = withoutCredentials(sent)
      at = next
    }
  }
}

interface Home {
  readonly kind: AddressKind
  readonly addresses: Awaited<ReturnType<Resolve>>
}

/** Where the registry is. A name that has public addresses, too, is not of the local network. */
async function findHome(hostname: string, resolve: Resolve, isProxied: boolean): Promise<Home> {
  const literal = hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0) return { kind: kindOf(literal), addresses: [] }
  const found = await resolve(hostname).catch((cause: Error) => {
    if (isProxied) return []
    throw unavailable(`https://${hostname}`, `its name has no address: ${cause.message}`, cause)
  })
  const allowed: AddressKind[] = hostname === 'localhost' ? ['loopback'] : ['public', 'private']
  for (const kind of allowed) {
    const addresses = found.filter(({ address }) => kindOf(address) === kind)
    if (addresses.length > 0) return { kind, addresses }
  }
  if (isProxied && found.length === 0) return { kind: 'public', addresses: [] }
  throw unavailable(
    `https://${hostname}`,
    `its name leads to ${found[0]?.address ?? 'no address'}, which is no address of a registry`,
  )
}

const isReachable = (kind: AddressKind, home: AddressKind): boolean => kind === 'public' || kind === home

function expectReachable(
  { hostname, host, protocol }: URL,
  mayConnect: (address: string) => boolean,
  insecure: ReadonlySet<string>,
): void {
  const literal = hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0 && !mayConnect(literal))
    throw unavailable(`http://${host}`, 'the registry leads to an address of the local network')
  if (protocol === 'http:' && !isLoopbackHost(host) && !insecure.has(host))
    throw unavailable(`http://${host}`, 'the registry leads to a host without TLS')
}

/** @param from of the answer that named it */
export function readUrl(text: string, from: string): URL {
  const url = URL.parse(text, from)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw unavailable(from, `it names ${JSON.stringify(text.slice(0, 200))}, which is no http or https URL`)
  if (url.username + url.password !== '')
    throw unavailable(from, 'it names a URL with a user name or password')
  return url
}

const withoutCredentials = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'))

interface SendOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly lookup: LookupFunction
  readonly rejectUnauthorized: boolean
  readonly agent: Agent
  readonly timeoutMs: number | undefined
}

function send(
  url: URL,
  options: SendOptions,
  limits: TransferLimits,
  form?: URLSearchParams,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const ofForm = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const method = form ? 'POST' : 'GET'
    const headers = { ...options.headers, ...(form && ofForm) }
    const request = startRequest(url, { ...options, method, headers })
    const noAnswer = Object.assign(new Error(`no answer within ${limits.headersMs / 1000} s`), {
      code: 'ETIMEDOUT',
    })
    const late = setTimeout(() => request.destroy(noAnswer), limits.headersMs)
    const refuse = (cause: unknown) =>
      reject(unavailable(url.href, (cause as Error).message, cause, hintFor(cause)))
    request.on('close', () => clearTimeout(late))
    let interim = 0
    request.on(
      'information',
      safely('registry.information', () => {
        if (++interim <= maxInterim) return
        // The answer may be in the same packet.
        refuse(new Error('it announced its answer without end'))
        request.destroy()
      }),
    )
    // Without a listener, an answer that changes the protocol (101) would be neither a response nor an error.
    request.on(
      'upgrade',
      safely('registry.upgrade', (_: IncomingMessage, socket: Duplex) => {
        socket.destroy()
        refuse(new Error('it answers by changing the protocol'))
      }),
    )
    request.on(
      'response',
      safely('registry.response', (response: IncomingMessage) => {
        clearTimeout(late)
        // The reader of the body gets the error, too.
        response.on('error', () => undefined)
        resolve(response)
      }),
    )
    request.on('error', safely('registry.error', refuse, reject))
    request.end(form?.toString())
  })
}

/** The chunks of an answer, until they arrive too slowly. @throws Error; then, and at the end, the connection is closed */
async function* timely(response: IncomingMessage, pace: Pace): AsyncGenerator<Uint8Array> {
  try {
    yield* paced(received(response), pace, (why) => new Error(why))
  } finally {
    response.destroy()
  }
}

/** All chunks that arrived. After a cut, iterating a stream of Node discards up to 64 KiB that it has in memory. */
async function* received(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) yield chunk
  } catch (cause) {
    const rest = response.read() as Buffer | null
    if (rest) yield rest
    throw cause
  }
}

/** Codes of Node for a network that may be there again later. */
const passingCodes: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'EPIPE',
  'ETIMEDOUT',
])

/** Whether the same request may succeed after this error of a connection. */
export const isPassing = (cause: unknown): boolean =>
  cause instanceof Error && passingCodes.has((cause as NodeJS.ErrnoException).code)

/** Codes of a connection that was not opened, or had no answer. */
const awayCodes: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ETIMEDOUT',
])

/** Whether the host could not be reached at all. */
export const isAway = (cause: unknown): boolean =>
  cause instanceof Error && awayCodes.has((cause as NodeJS.ErrnoException).code)

export const unavailable = (url: string, why: string, cause?: unknown, hint?: string): RpcError =>
  new RpcError('registry_unavailable', `${URL.parse(url)?.host ?? url.slice(0, 200)}: ${why}`, {
    cause,
    ...(hint !== undefined && { hint }),
  })

/** Codes of OpenSSL, Node.js and `NetworkFailure` for a certificate that cannot be verified. */
const certificateCodes = /^(?:certificate_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/

const hintFor = (cause: unknown): string | undefined =>
  certificateCodes.test(String((cause as NodeJS.ErrnoException).code))
    ? 'Check the clock of the device. Put the authority of the certificate into the file of network.caFile, or name the registry in images.insecure.'
    : undefined

/**
 * The body of an answer as text.
 *
 * @throws RpcError `invalid_image` when it is larger than `maxBytes`; then the connection is closed
 */
export async function readText({ body }: Answer, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes)
      throw new RpcError('invalid_image', `the registry sent a document larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
