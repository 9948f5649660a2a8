/** Headers on their way through the gateway (RFC 9110 § 7.6.1, RFC 7239). */
import { callerHeaders } from '@selvedge/protocol'
import type { Caller } from './admit.ts'

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
const droppedFromRequests = new Set([...dropped, 'expect', 'forwarded', 'content-length'])
/** What only the gateway may say. */
const reserved = /^x-(forwarded|selvedge)-/i

export interface RequestFacts {
  readonly caller: Caller | undefined
  readonly prefix: string
  readonly forwardToken: boolean
  /** Address of the client. */
  readonly from: string
  readonly proto: 'http' | 'https'
}

/** Names that the Connection header adds to those that end here. */
const named = (raw: readonly string[]): string[] => {
  const names: string[] = []
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]!.toLowerCase() === 'connection')
      names.push(
        ...raw[at + 1]!.toLowerCase()
          .split(',')
          .map((each) => each.trim()),
      )
  }
  return names
}

/** The headers for the service, as name and value in turn. */
export function requestHeaders(raw: readonly string[], facts: RequestFacts): string[] {
  const { caller, prefix, forwardToken, from, proto } = facts
  const headers: string[] = []
  const connection = named(raw)
  let host = ''
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!
    const lower = name.toLowerCase()
    if (droppedFromRequests.has(lower) || connection.includes(lower) || reserved.test(lower)) continue
    if (lower === 'authorization' && !forwardToken) continue
    if (lower === 'host') host = raw[at + 1]!
    headers.push(name, raw[at + 1]!)
  }
  const node = from.includes(':') ? `"[${from}]"` : from || '_local'
  headers.push(
    'Forwarded',
    `for=${node};host="${host.replaceAll(/["\\]/g, '')}";proto=${proto}`,
    'X-Forwarded-Prefix',
    prefix,
  )
  if (caller) {
    headers.push(callerHeaders.account, caller.account, callerHeaders.client, caller.client)
    if (caller.scope !== '') headers.push(callerHeaders.scope, caller.scope)
    if (caller.container !== '') headers.push(callerHeaders.container, caller.container)
  }
  return headers
}

/** The headers of a call to the outside; the Host is the caller's to add. */
export function withoutHopByHop(raw: readonly string[]): string[] {
  const headers: string[] = []
  const connection = named(raw)
  for (let at = 0; at < raw.length; at += 2) {
    const lower = raw[at]!.toLowerCase()
    const ends =
      (lower !== 'content-length' && droppedFromRequests.has(lower)) ||
      lower === 'host' ||
      reserved.test(lower)
    if (!ends && !connection.includes(lower)) headers.push(raw[at]!, raw[at + 1]!)
  }
  return headers
}

/** The headers for the client. @param sandboxed whether pages are kept apart from the runtime's own */
export function responseHeaders(raw: readonly string[], sandboxed: boolean): string[] {
  const headers: string[] = []
  const connection = named(raw)
  for (let at = 0; at < raw.length; at += 2) {
    const lower = raw[at]!.toLowerCase()
    if (!dropped.has(lower) && !connection.includes(lower)) headers.push(raw[at]!, raw[at + 1]!)
  }
  if (sandboxed) headers.push('Content-Security-Policy', pagePolicy)
  return headers
}

/**
 * A page of a service has the origin of the runtime's own API. In this sandbox a browser gives it an origin of its own, so that
 * its scripts are strangers to the API. `MCM.PAGES: "trusted"` takes it away.
 */
const pagePolicy = 'sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads'

/** Headers as they go over the wire. */
export function linesOf(headers: readonly string[]): string {
  let lines = ''
  for (let at = 0; at < headers.length; at += 2) lines += `${headers[at]}: ${headers[at + 1]}\r\n`
  return lines
}
