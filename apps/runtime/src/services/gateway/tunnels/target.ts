/** Where a function wants to connect to: the target of a CONNECT request (RFC 9110 § 9.3.6), checked against `MCM.OUTBOUND`. */
import { isIP } from 'node:net'
import { kindOf } from '@selvedge/service-kit/addresses'
import { isListed, neverReached } from '../egress.ts'

export interface Target {
  /** A name, or an address without brackets, as the URL parser writes it. */
  readonly host: string
  readonly port: number
}

/** No user name, path, zone or control character; the URL parser reads the rest as it does for `fetch`. */
const authority = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253}):(\d{1,5})$/i

/**
 * @param text `host:port` of the request
 * @param outbound the hosts that are listed
 * @param isOwnUrl whether a URL belongs to this runtime's own listener
 * @returns the target, or the sentence why it is refused
 */
export function readTarget(
  text: string,
  outbound: readonly string[],
  isOwnUrl: (url: URL) => boolean,
): Target | string {
  const [, name = '', digits = ''] = authority.exec(text) ?? []
  const port = Number(digits)
  const url = name === '' || port < 1 || port > 65_535 ? null : URL.parse(`http://${name}:${port}`)
  if (url === null) return `${JSON.stringify(text.slice(0, 300))} is not a host and a port from 1 to 65535`
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const shown = `${url.hostname}:${port}`
  const own = ownUrl(host, port)
  // A client of node:http follows redirects, and the runtime does not see them.
  if (own && isOwnUrl(own)) return `${shown} is this device, which functions call with fetch`
  const never = neverReached(url.hostname)
  if (never !== undefined) return never
  if (isListed(outbound, url)) return { host, port }
  return `${shown} is not listed in MCM.OUTBOUND; deploy the container with "MCM.OUTBOUND": "${[...outbound, shown].join(',')}"`
}

/** The URL by which this runtime's own listener is known: all addresses of the loopback, and the unspecified ones, lead to this machine. */
function ownUrl(host: string, port: number): URL | undefined {
  const isLocal = host === 'localhost' || (isIP(host) !== 0 && ['loopback', 'special'].includes(kindOf(host)))
  return isLocal ? new URL(`http://127.0.0.1:${port}`) : undefined
}
