/**
 * The head of a request of HTTP/2 as one of HTTP/1.1 (RFC 9113 § 8.2, § 8.3). The library of Node.js has checked most of it; what two
 * readers of HTTP/1.1 might read differently is refused here again.
 */

/** How the body of a request is sent on (RFC 9112 § 6). */
type RequestFraming = 'none' | 'length' | 'chunked'

export interface RequestHead {
  /** Request line and headers, with the empty line at the end. */
  readonly text: string
  readonly framing: RequestFraming
  /** Whether the client waits for an interim response before it sends the body. */
  readonly expectsContinue: boolean
}

/** A request that HTTP/1.1 cannot carry. The message is for the client: why. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest'
}

const methodPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const namePattern = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const valuePattern = /^[\t\x20-\x7e\x80-\xff]*$/
const pathPattern = /^(?:\/[\x21-\x7e\x80-\xff]*|\*)$/
/** A host with or without a port; no user. */
const authorityPattern = /^[^\x00-\x20/?#@\\\x7f-\xff]{1,300}$/
const lengthPattern = /^\d{1,15}$/
/** Of one connection of HTTP/1.1 (RFC 9113 § 8.2.2); `te` may only be "trailers". */
const ofConnection = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/**
 * @param raw names and values in turn, as they came, pseudo-headers first
 * @param isComplete whether no body follows
 * @throws BadRequest
 */
export function requestHeadOf(raw: readonly string[], isComplete: boolean): RequestHead {
  const pseudo = new Map<string, string>()
  const lines: string[] = []
  const cookies: string[] = []
  let host: string | undefined
  let length: string | undefined
  let expectsContinue = false
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!
    const value = raw[at + 1]!
    if (!valuePattern.test(value)) throw new BadRequest(`the value of ${name} has a control character`)
    if (name.startsWith(':')) {
      if (pseudo.has(name)) throw new BadRequest(`${name} came twice`)
      pseudo.set(name, value)
    } else if (!namePattern.test(name) || ofConnection.has(name))
      throw new BadRequest(`${name} is no header of HTTP/2`)
    else if (name === 'te' && value.toLowerCase() !== 'trailers') throw new BadRequest('te is not "trailers"')
    else if (name === 'cookie') cookies.push(value)
    else if (name === 'expect') expectsContinue = value.toLowerCase() === '100-continue'
    else if (name === 'host') {
      if (host !== undefined) throw new BadRequest('host came twice')
      host = value
    } else if (name === 'content-length') {
      if (length !== undefined || !lengthPattern.test(value))
        throw new BadRequest('content-length is malformed')
      length = value
    } else lines.push(`${name}: ${value}\r\n`)
  }
  const target = targetOf(pseudo, host)
  if (isComplete && length !== undefined && Number(length) > 0) throw new BadRequest('it has no body')
  const framing = isComplete ? 'none' : length === undefined ? 'chunked' : 'length'
  if (length !== undefined) lines.push(`Content-Length: ${length}\r\n`)
  else if (framing === 'chunked') lines.push('Transfer-Encoding: chunked\r\n')
  // Crumbs of one header (RFC 9113 § 8.2.3).
  if (cookies.length > 0) lines.push(`Cookie: ${cookies.join('; ')}\r\n`)
  return { text: `${target}${lines.join('')}Connection: close\r\n\r\n`, framing, expectsContinue }
}

/** The request line and the Host header. @throws BadRequest */
function targetOf(pseudo: ReadonlyMap<string, string>, host: string | undefined): string {
  const [method = '', path = '', scheme = ''] = [':method', ':path', ':scheme'].map((name) =>
    pseudo.get(name),
  )
  if (!methodPattern.test(method) || method === 'CONNECT') throw new BadRequest(':method is not served')
  if (!pathPattern.test(path)) throw new BadRequest(':path is not a path')
  if (scheme !== 'http' && scheme !== 'https') throw new BadRequest(':scheme is not http or https')
  const authority = pseudo.get(':authority') || undefined
  if (authority !== undefined && !authorityPattern.test(authority))
    throw new BadRequest(':authority is not a host')
  // § 8.3.1: they name the same host, or the request is malformed.
  if (authority !== undefined && host !== undefined && authority.toLowerCase() !== host.toLowerCase())
    throw new BadRequest(':authority and host differ')
  const named = authority ?? host
  return `${method} ${path} HTTP/1.1\r\n${named === undefined ? '' : `Host: ${named}\r\n`}`
}
