/**
 * Redirects of a service to itself. A service knows its paths without the prefix at the gateway, so its redirect would lead out of it. As
 * `proxy_redirect` of nginx, but also for a path alone, which most frameworks send.
 */

export interface OwnPlace {
  /** Path of the service at the gateway, without a slash at its end. */
  readonly prefix: string
  /** Client of the service: paths of its services begin with it. */
  readonly clientId: string
  /** `Host` of the request. */
  readonly host: string
  /** Port at which the service listens; undefined if it is not known. */
  readonly port: number | undefined
}

/** Larger ones are sent as they are. */
const maxLength = 8192
const absolute = /^(https?):\/\/([^/?#\\@]*)((?:[/?#].*)?)$/i

/**
 * A `Location` for the client. A path, and a URL with the host of the request and its port or that of the service, leads below the prefix. All
 * others are as they were: another host or port, another scheme, a relative reference, the path of a service of the same client.
 */
export function ownRedirect(location: string, place: OwnPlace): string {
  if (location.length > maxLength || place.prefix === '/') return location
  const [, scheme = '', authority, after = ''] = absolute.exec(location) ?? []
  if (authority === undefined) return /^\/(?!\/)/.test(location) ? below(location, place) : location
  if (!isOwn(scheme.toLowerCase(), authority, place)) return location
  const path = after.startsWith('/') ? after : `/${after}`
  const shown = below(path, place)
  // With its own port, the service means itself; with that of the request, it may know its prefix.
  return shown === path && authority.toLowerCase() === place.host.toLowerCase() ? location : shown
}

function below(path: string, { prefix, clientId }: OwnPlace): string {
  const isBelow = (first: string) =>
    path.startsWith(first) && (path.length === first.length || '/?#'.includes(path[first.length]!))
  return isBelow(prefix) || isBelow(`/${clientId}`) ? path : prefix + path
}

function isOwn(scheme: string, authority: string, { host, port }: OwnPlace): boolean {
  const [name, at] = split(authority)
  const [ownName, ownAt] = split(host)
  if (name !== ownName || name === '') return false
  const usual = scheme === 'https' ? '443' : '80'
  return [ownAt || usual, ...(port === undefined ? [] : [`${port}`])].includes(at || usual)
}

/** @returns name in lower case, and port, "" if there is no port */
function split(authority: string): readonly [string, string] {
  const [, name = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d{0,5}))?$/.exec(authority) ?? []
  return [name.toLowerCase(), port]
}
