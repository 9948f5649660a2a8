import type { IncomingMessage } from 'node:http'
import { isUtf8Type } from './content-type.ts'

/** A refusal below JSON-RPC: HTTP status, stable word, and what to do. */
export interface Refusal {
  readonly status: number
  readonly reason: string
  readonly message: string
}

/** The headers that decide whether a request is looked at; read in one pass, since every call pays for it. */
export interface GuardedHeaders {
  host: string | undefined
  origin: string | undefined
  referer: string | undefined
  fetchSite: string | undefined
  contentType: string | undefined
  authorization: string | undefined
  dpop: string | undefined
  /** Nonce of the page of this listener. */
  pageNonce: string | undefined
  /** A header of this list that came twice: two readers might take a different one each. */
  repeated: string | undefined
}

const names: Readonly<Record<string, Exclude<keyof GuardedHeaders, 'repeated'>>> = {
  host: 'host',
  origin: 'origin',
  referer: 'referer',
  'sec-fetch-site': 'fetchSite',
  'content-type': 'contentType',
  authorization: 'authorization',
  dpop: 'dpop',
  'selvedge-page-nonce': 'pageNonce',
}
const lengths = new Set(Object.keys(names).map((name) => name.length))

export function readGuardedHeaders({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): GuardedHeaders {
  const headers: GuardedHeaders = {
    host: undefined,
    origin: undefined,
    referer: undefined,
    fetchSite: undefined,
    contentType: undefined,
    authorization: undefined,
    dpop: undefined,
    pageNonce: undefined,
    repeated: undefined,
  }
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at]!
    if (!lengths.has(raw.length)) continue
    const name = raw.toLowerCase()
    const member = Object.hasOwn(names, name) ? names[name] : undefined
    if (!member) continue
    if (headers[member] !== undefined) headers.repeated = name
    headers[member] = rawHeaders[at + 1]
  }
  return headers
}

export interface GuardOptions {
  /** Port that the listener answers on; undefined on a Unix socket, where any port will do. */
  readonly port: number | undefined
  /**
   * Host names beside those of the loopback. One with a port is of a proxy in front of the listener, and is compared with it:
   * `device.example:443` accepts `Host: device.example` as well, since clients leave the usual port of a scheme out.
   */
  readonly hosts?: readonly string[]
  /** Origins of pages that may call, as a browser spells them. */
  readonly allowedOrigins: readonly string[]
}

const withPort = /:\d{1,5}$/
const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

/**
 * The CSRF and DNS rebinding check: keeps web pages out, whatever they try: a foreign name that resolves here (DNS rebinding) fails on `Host`, a foreign page
 * on `Origin`, `Referer` or `Sec-Fetch-Site`. A request without these headers is accepted: programs do not send them.
 */
export function createGuard({
  port,
  hosts = [],
  allowedOrigins,
}: GuardOptions): (headers: GuardedHeaders) => Refusal | undefined {
  const named = [...loopbackNames, ...hosts.map((each) => each.toLowerCase())]
  const ownNames = new Set(named.map((each) => each.replace(withPort, '')))
  const withPorts = named.flatMap((each) =>
    withPort.test(each) ? [each] : port === undefined ? [] : [`${each}:${port}`],
  )
  const ownHosts = new Set(withPorts.flatMap((each) => [each, each.replace(/:(?:80|443)$/, '')]))
  const ownOrigins = new Set([...allowedOrigins, ...withPorts.flatMap(originsOf)])

  const isOwnHost = (host: string): boolean =>
    port === undefined ? ownNames.has(host.replace(/:\d*$/, '')) : ownHosts.has(host)

  const isOwnPage = (page: string): boolean => {
    if (ownOrigins.has(page)) return true
    // No longer part is parsed: a host name of 16 KiB costs a millisecond.
    const [start] = /^https?:\/\/[^/\\?#]{1,300}(?=[/\\?#]|$)/i.exec(page) ?? []
    const url = start === undefined ? null : URL.parse(start)
    return url !== null && ownOrigins.has(url.origin)
  }

  return (headers) => {
    const { host, origin, referer, fetchSite, repeated } = headers
    if (repeated !== undefined)
      return refusal(400, 'repeated_header', `the header "${repeated}" came twice; send it once`)
    if (host === undefined || !(isOwnHost(host) || isOwnHost(host.toLowerCase()))) {
      return refusal(
        403,
        'foreign_host',
        `the Host header is ${show(host)}; this listener answers to ${(port === undefined ? [...ownNames] : withPorts).join(', ')}. A name of this device, or of a proxy with the proxy's port, such as device.example:443, can be added to "listen.hosts"`,
      )
    }
    if (origin !== undefined && !ownOrigins.has(origin)) {
      return refusal(
        403,
        'foreign_origin',
        `pages of ${show(origin)} may not call; allow the origin in "allowedOrigins" if they should`,
      )
    }
    if (referer !== undefined && !isOwnPage(referer)) {
      return refusal(
        403,
        'foreign_referer',
        'the Referer header is of another site; allow its origin in "allowedOrigins" if it should call',
      )
    }
    // A page of another site with an allowed origin may call. Other origins were refused above.
    if (
      fetchSite !== undefined &&
      fetchSite !== 'none' &&
      fetchSite !== 'same-origin' &&
      origin === undefined
    ) {
      return refusal(
        403,
        'foreign_site',
        `a browser sent this for another site (Sec-Fetch-Site: ${show(fetchSite)})`,
      )
    }
    return undefined
  }
}

/** The origins of pages at a host with a port, as browsers spell them. */
const originsOf = (host: string): string[] =>
  ['http', 'https'].flatMap((scheme) => URL.parse(`${scheme}://${host}`)?.origin ?? [])

const refusal = (status: number, reason: string, message: string): Refusal => ({ status, reason, message })
const show = (text: string | undefined): string =>
  text === undefined ? 'missing' : JSON.stringify(text.slice(0, 100))

/** `application/json`, and the names that clients older than RFC 8259 have for it. */
const jsonTypes = ['application/json', 'application/json-rpc', 'application/jsonrequest']

/** JSON in UTF-8 by its type. A page cannot send one of these without asking first (a preflight), so nothing else is accepted. */
export const isJsonType = (contentType: string | undefined): boolean =>
  jsonTypes.some((type) => isUtf8Type(contentType, type))

/** Headers that only browsers send, and Content-Encoding, which changes how the body is to be read. */
const pageHeaders = /^(?:content-type|origin|referer|content-encoding|sec-.*|access-control-request-.*)$/i
const loopbackAddress = /^(?:127\.|::1$|::ffff:127\.)/

/**
 * Whether a body without Content-Type may be read as JSON: programs of this API family misspell the header. A page can leave it out,
 * but not the headers that browsers add; and only programs on the device may send such a request.
 */
export const isUntypedOfProgram = ({
  rawHeaders,
  socket: { localAddress },
}: Pick<IncomingMessage, 'rawHeaders' | 'socket'>): boolean =>
  // A Unix socket has no address.
  (localAddress === undefined || loopbackAddress.test(localAddress)) &&
  !rawHeaders.some((name, at) => at % 2 === 0 && pageHeaders.test(name))
