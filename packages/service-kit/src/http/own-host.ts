import { isIP } from 'node:net'

/**
 * Whether a request names this service in its `Host` header. A web page can make a browser send requests here by letting a name of
 * its own resolve to this address (DNS rebinding); it cannot make the browser name an IP address instead.
 *
 * @param host the header, with or without a port
 * @param names host names of this service, in lower case
 */
export function isOwnHost(host: string | undefined, names: readonly string[]): boolean {
  if (host === undefined || host.length > 300) return false
  const name = host.replace(/:\d{1,5}$/, '').toLowerCase()
  if (name === 'localhost' || names.includes(name)) return true
  return isIP(name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name) > 0
}
