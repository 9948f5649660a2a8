/** The way out for functions: HTTP to the hosts that `MCM.OUTBOUND` lists, asked over the instance's own socket. */
import { lookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { responseHeaders, withoutHopByHop } from './headers.ts'

/** Milliseconds without a byte after which a call counts as lost. */
const patience = 60_000

/**
 * Addresses that a host *name* may not lead to: this device, its link, and what only its own network should see
 * (RFC 6890). Whoever wants one of them lists the address itself, so that no name server decides it.
 */
const inner = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  inner.addSubnet(net, bits, 'ipv4')
for (const [net, bits] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  inner.addSubnet(net, bits, 'ipv6')

const isInner = (address: string): boolean => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  const plain = mapped ?? address
  return inner.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4')
}

/** Whether a list such as `api.example.com`, `10.0.0.5:8080` holds the host and port of a URL. */
export function isListed(outbound: readonly string[], { hostname, port, protocol }: URL): boolean {
  const given = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  return outbound.some((each) => {
    const [, host, listed] = /^(.*?)(?::(\d+))?$/.exec(each) ?? []
    return host === hostname && (listed === undefined ? given === '80' || given === '443' : listed === given)
  })
}

const refuse = (response: ServerResponse, why: string): void => {
  // What the function's fetch throws.
  response.writeHead(403, { 'x-selvedge-refused': why.replaceAll(/[^\x20-\x7e]/g, '?') }).end()
}

/** Passes one request on to where it wants to go, if that is listed. */
export async function passOut(
  request: IncomingMessage,
  response: ServerResponse,
  target: string,
  outbound: readonly string[],
): Promise<void> {
  request.on('error', () => undefined)
  const url = URL.parse(target)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '')
    return refuse(response, `${target.slice(0, 200)} is not an http or https URL`)
  if (!isListed(outbound, url))
    return refuse(
      response,
      `${url.host} is not listed in MCM.OUTBOUND; deploy the container with "MCM.OUTBOUND": "${[...outbound, url.host].join(',')}"`,
    )
  const { hostname } = url
  const literal = hostname.replace(/^\[|\]$/g, '')
  let address = literal
  if (isIP(literal) === 0) {
    const found = await lookup(literal).catch(() => undefined)
    if (!found) return refuse(response, `${hostname} can't be resolved`)
    if (isInner(found.address))
      return refuse(
        response,
        `${hostname} resolves to ${found.address}, which is not public; list the address itself if it is meant`,
      )
    address = found.address
  }
  const send = url.protocol === 'https:' ? process.getBuiltinModule('node:https').request : httpRequest
  const outgoing = send(
    {
      host: address,
      ...(isIP(literal) === 0 && { servername: hostname }),
      port: url.port || (url.protocol === 'https:' ? 443 : 80),
      path: url.pathname + url.search,
      method: request.method,
      headers: [...withoutHopByHop(request.rawHeaders), 'Host', url.host],
      timeout: patience,
      agent: false,
    },
    (incoming) => {
      response.writeHead(incoming.statusCode!, responseHeaders(incoming.rawHeaders, false))
      incoming.on('error', () => response.destroy())
      incoming.pipe(response)
    },
  )
  outgoing.on('timeout', () => outgoing.destroy(new Error(`nothing came for ${patience / 1000} s`)))
  outgoing.on('error', (cause) => {
    if (response.headersSent) response.destroy()
    else refuse(response, `${url.host}: ${cause.message}`)
  })
  response.on('close', () => outgoing.destroy())
  request.pipe(outgoing)
}
