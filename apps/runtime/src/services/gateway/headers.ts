/** Headers on their way through the gateway (RFC 9110 § 7.6.1, RFC 7239). */
import { callerHeaders, isConsoleCookie, withoutConsoleCookies } from '@selvedge/protocol'
import { traceparentOf } from '@selvedge/service-kit/http'
import { eventsHeader } from '../engines/function/control.ts'
import type { Caller } from './admit.ts'
import { isOriginWide } from './origin-wide.ts'
import { type OwnPlace, ownRedirect } from './own-redirect.ts'
import { userHeader } from './user-header.ts'

const requestIdHeader = 'X-Request-Id'
/** Names the service of a request that has no room for its path, such as a call of gRPC. */
export const serviceHeader = 'selvedge-service'

/** Meant for one connection only, or for the gateway itself. */
const dropped = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** `Proxy` becomes HTTP_PROXY in a CGI program, and leads its own calls elsewhere. */
const droppedFromRequests = new Set([
  ...dropped,
  'expect',
  'forwarded',
  'content-length',
  'proxy',
  serviceHeader,
])
/** Sent by the gateway with a value of its own. */
const ownRequestId = requestIdHeader.toLowerCase()
/** What the Connection header cannot remove: whom a request is for, who sends it, where its body ends. */
const lasting = new Set(['host', 'authorization', 'content-length'])
/**
 * Names that only the gateway may send, and names that a service may confuse with them: CGI writes every character that is
 * neither a letter nor a digit as `_`, so `X_Selvedge_Account` and `X-Selvedge-Account` are the same variable. Like nginx.
 */
const refusedName = /^x-(?:forwarded|selvedge)-|[^a-z0-9-]/

export interface RequestFacts {
  readonly caller: Caller | undefined
  readonly prefix: string
  readonly forwardToken: boolean
  /** Address of the client. */
  readonly from: string
  readonly proto: 'http' | 'https'
  /** The ID of the request: see `requestIdOf`. */
  readonly requestId: string
  /** Whether the caller is a client of events. */
  readonly isOfEvents: boolean
}

const none: ReadonlySet<string> = new Set()

/** Names that the Connection header adds to those that end here (RFC 9110 § 7.6.1). */
function namedByConnection(raw: readonly string[]): ReadonlySet<string> {
  let names: Set<string> | undefined
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]!.length !== 10 || raw[at]!.toLowerCase() !== 'connection') continue
    names ??= new Set()
    for (const name of raw[at + 1]!.toLowerCase().split(',')) names.add(name.trim())
  }
  if (!names) return none
  for (const name of lasting) names.delete(name)
  return names
}

/** The headers for the service, as name and value in turn. */
export function requestHeaders(raw: readonly string[], facts: RequestFacts): string[] {
  const { caller, prefix, forwardToken, from, proto, requestId, isOfEvents } = facts
  const headers: string[] = []
  const connection = namedByConnection(raw)
  let host = ''
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!
    const lower = name.toLowerCase()
    if (droppedFromRequests.has(lower) || connection.has(lower) || refusedName.test(lower)) continue
    if (lower === ownRequestId || (lower === 'authorization' && !forwardToken)) continue
    if (lower === 'host') host = raw[at + 1]!
    if (lower === 'traceparent' && !traceparentOf(raw)) continue
    const value = lower === 'cookie' ? withoutConsoleCookies(raw[at + 1]!) : raw[at + 1]!
    if (lower !== 'cookie' || value !== '') headers.push(name, value)
  }
  const node = from.includes(':') ? `"[${from}]"` : from || '_local'
  headers.push(
    'Forwarded',
    `for=${node};host="${host.replaceAll(/["\\]/g, '')}";proto=${proto}`,
    'X-Forwarded-Prefix',
    prefix,
    'X-Forwarded-Proto',
    proto,
    requestIdHeader,
    requestId,
  )
  if (host !== '') headers.push('X-Forwarded-Host', host)
  if (from !== '') headers.push('X-Forwarded-For', from)
  if (isOfEvents) headers.push(eventsHeader, 'true')
  if (caller) {
    headers.push(callerHeaders.account, caller.account, callerHeaders.client, caller.client)
    if (caller.scope !== '') headers.push(callerHeaders.scope, caller.scope)
    if (caller.container !== '') headers.push(callerHeaders.container, caller.container)
    if (caller.user) headers.push(callerHeaders.user, userHeader(caller.user))
  }
  return headers
}

/** The headers of a call to the outside; the Host is for the caller of this function to add. */
export function withoutHopByHop(raw: readonly string[]): string[] {
  const headers: string[] = []
  const connection = namedByConnection(raw)
  let isChunked = false
  for (let at = 0; at < raw.length; at += 2) {
    const lower = raw[at]!.toLowerCase()
    isChunked ||= lower === 'transfer-encoding'
    const ends =
      (lower !== 'content-length' && droppedFromRequests.has(lower)) ||
      lower === 'host' ||
      refusedName.test(lower)
    if (!ends && !connection.has(lower)) headers.push(raw[at]!, raw[at + 1]!)
  }
  // Without it, Node sends the body of a GET with no framing at all, and its bytes would be the next request.
  if (isChunked) headers.push('Transfer-Encoding', 'chunked')
  return headers
}

export interface AnswerFacts {
  /** Whether pages are isolated from the runtime's own. */
  readonly sandboxed: boolean
  /** The ID of the request, in place of any that the service sends; undefined: the answer keeps its own. */
  readonly requestId: string | undefined
  /** Where the service is, for its redirects; undefined: they stay as they are. */
  readonly place?: OwnPlace | undefined
}

/** The headers for the client. A service neither sets nor clears a session cookie of the console. */
export function responseHeaders(
  raw: readonly string[],
  { sandboxed, requestId, place }: AnswerFacts,
): string[] {
  const headers: string[] = []
  const connection = namedByConnection(raw)
  for (let at = 0; at < raw.length; at += 2) {
    const lower = raw[at]!.toLowerCase()
    if (dropped.has(lower) || connection.has(lower) || isOriginWide(lower, raw[at + 1]!)) continue
    if (lower === 'set-cookie' && isConsoleCookie(raw[at + 1]!)) continue
    if (lower === ownRequestId && requestId !== undefined) continue
    const value = raw[at + 1]!
    headers.push(raw[at]!, place && lower === 'location' ? ownRedirect(value, place) : value)
  }
  if (requestId !== undefined) headers.push(requestIdHeader, requestId)
  if (sandboxed) headers.push('Content-Security-Policy', pagePolicy)
  return headers
}

/** Fields that change how a message is framed, routed, authorized or read: a trailer of that name may not (RFC 9110 § 6.5.1). */
const neverTrailers = new Set([
  ...['age', 'authorization', 'cache-control', 'content-encoding', 'content-length', 'content-range'],
  ...[
    'content-security-policy',
    'content-type',
    'cookie',
    'date',
    'expires',
    'host',
    'location',
    'max-forwards',
  ],
  ...['retry-after', 'set-cookie', 'vary', 'warning', 'www-authenticate'],
])

/** The trailers for the client, as pairs. */
export const trailersFor = (raw: readonly string[], facts: AnswerFacts): [string, string][] => {
  const allowed = responseHeaders(raw, { ...facts, sandboxed: false, requestId: undefined })
  const pairs: [string, string][] = []
  for (let at = 0; at < allowed.length; at += 2) {
    const lower = allowed[at]!.toLowerCase()
    if (!neverTrailers.has(lower) && lower !== ownRequestId && !lower.startsWith('access-control-'))
      pairs.push([allowed[at]!, allowed[at + 1]!])
  }
  return pairs
}

/**
 * A page of a service has the origin of the runtime's own API. In this sandbox a browser gives it a separate origin, so that
 * its scripts are strangers to the API. `MCM.PAGES: "trusted"` removes it; then the nonce of the own page keeps them out.
 */
const pagePolicy = 'sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads'

/** Headers as they go over the wire. */
export function linesOf(headers: readonly string[]): string {
  let lines = ''
  for (let at = 0; at < headers.length; at += 2) lines += `${headers[at]}: ${headers[at + 1]}\r\n`
  return lines
}
