/** Outgoing HTTP of services, to the hosts that `MCM.OUTBOUND` lists. Services send it over their instance's own socket. */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { outboundWords } from '@selvedge/protocol'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import { guardedLookup, kindOf, type Resolve, resolveName } from '@selvedge/service-kit/addresses'
import { allowLargeBody } from '@selvedge/service-kit/http'
import { type Outbound, startRequest } from '@selvedge/service-kit/network'
import { safely } from '@selvedge/service-kit/safely'
import { responseHeaders, withoutHopByHop } from './headers.ts'

/** Milliseconds without a byte after which a call counts as lost. */
const idleMs = 60_000
/** Answers of the status 1xx before the real one. */
const maxAnnounced = 16
/** Statuses that an answer may have. Node passes others on as well, and refuses to send them. */
const statuses = { min: 200, max: 599 }

interface Ways {
  readonly network: Outbound
  readonly resolve?: Resolve
}

/** Whether a list such as `public`, `api.example.com`, `10.0.0.5:8080`, `10.1.2.0/24:502` holds the host and port of a URL. */
export function isListed(outbound: readonly string[], { hostname, port, protocol }: URL): boolean {
  const given = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  return outbound.some((each) => {
    // A name may be public: `guardedLookup` decides by its addresses.
    if (each === outboundWords.public) return isIP(bare(hostname)) === 0 || isPublic(bare(hostname))
    const [, host, listed] = /^(.*?)(?::(\d+))?$/s.exec(each)!
    const isHost =
      host === hostname || (host!.includes('/') && createAddressSet([host!]).includes(bare(hostname)))
    return isHost && (listed === undefined ? given === '80' || given === '443' : listed === given)
  })
}

/** Why a host is never reached, even if it is listed; undefined for any other host. @param hostname as a URL has it */
export function neverReached(hostname: string): string | undefined {
  const address = bare(hostname)
  if (isIP(address) === 0 || !['link-local', 'metadata'].includes(kindOf(address))) return undefined
  return `${hostname} is a link-local or metadata address, which services never reach`
}

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, '')
const isPublic = (address: string): boolean => kindOf(address) === 'public'

/** Refuses a call of a service. @param why what the function's fetch throws */
export const refuseCall = (response: ServerResponse, why: string): void => {
  if (response.headersSent || response.destroyed) return
  response.writeHead(403, { 'x-selvedge-refused': why.replaceAll(/[^\x20-\x7e]/g, '?') }).end()
}

/**
 * Passes one request on to where it wants to go, if that is listed. A host *name* leads to public addresses only, whatever a
 * name server says; an address that is not public has to be listed itself.
 *
 * @param target URL of the call
 * @param outbound the hosts that are listed
 * @param ways proxy and authorities; and, for tests, the resolver of names
 */
export function passOut(
  request: IncomingMessage,
  response: ServerResponse,
  target: string,
  outbound: readonly string[],
  ways: Ways,
): void {
  request.on('error', () => undefined)
  const found = allowedUrl(target, outbound)
  if (found instanceof URL) passOn(request, response, found, ways)
  else refuseCall(response, found)
}

/** The URL of a call, or why it is refused. */
function allowedUrl(target: string, outbound: readonly string[]): URL | string {
  const url = URL.parse(target)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username + url.password !== '')
    return `${target.slice(0, 200)} is not an http or https URL without a user name`
  const never = neverReached(url.hostname)
  if (never !== undefined) return never
  if (isListed(outbound, url)) return url
  return `${url.host} is not listed in MCM.OUTBOUND; deploy the container with "MCM.OUTBOUND": "${[...outbound, url.host].join(',')}"`
}

function passOn(request: IncomingMessage, response: ServerResponse, url: URL, ways: Ways): void {
  allowLargeBody(request)
  let outgoing: ClientRequest | undefined
  const fail = safely('egress.refuse', (cause: unknown) => {
    outgoing?.destroy()
    if (response.headersSent) response.destroy()
    else refuseCall(response, `${url.host}: ${(cause as Error).message}`)
  })
  const pass = () => {
    const sent = send(request, url, ways)
    outgoing = sent
    sent.on(
      'response',
      safely('egress.response', (incoming: IncomingMessage) => answer(incoming, response), fail),
    )
    sent.on('error', fail)
    // Answers that only announce another one (1xx) could come without end.
    let announced = 0
    sent.on('information', () => {
      if (++announced > maxAnnounced) sent.destroy(new Error('it announced its answer too often'))
    })
    // An answer that switches protocols causes neither a response nor an error.
    sent.on('close', () => {
      if (!response.headersSent) fail(new Error('the connection was closed without an answer'))
    })
    response.on('close', () => sent.destroy())
    request.pipe(sent)
  }
  safely('egress.request', pass, fail)()
}

/** @throws TypeError for a method or header that Node does not send */
function send(request: IncomingMessage, url: URL, ways: Ways): ClientRequest {
  const { network, resolve = resolveName } = ways
  const host = bare(url.hostname)
  const outgoing = startRequest(url, {
    ...(isIP(host) === 0 && { servername: host }),
    lookup: guardedLookup(isPublic, resolve, 'list the address itself if it is meant'),
    method: request.method,
    headers: [...withoutHopByHop(request.rawHeaders), 'Host', url.host],
    timeout: idleMs,
    agent: network.agentFor(url, 'foreign'),
  })
  outgoing.on('timeout', () => outgoing.destroy(new Error(`no data for ${idleMs / 1000} s`)))
  return outgoing
}

function answer(incoming: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 0, rawHeaders } = incoming
  if (statusCode < statuses.min || statusCode > statuses.max)
    throw new Error(`it answered with the status ${statusCode}`)
  response.writeHead(statusCode, responseHeaders(rawHeaders, { sandboxed: false, requestId: undefined }))
  incoming.on('error', () => response.destroy())
  incoming.pipe(response)
}
