/** The target of a request: its form, its host and its path. */
import type { IncomingMessage } from 'node:http'

const slash = 0x2f
/** `http` or `https` and a host with or without a port; no user, and no longer host than any that exists. */
const absolute = /^https?:\/\/([^/?#\\@\s]{1,300})(?=[/?]|$)/i

/** The path of a target in origin form. */
export function pathOf({ url = '' }: Pick<IncomingMessage, 'url'>): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/**
 * Turns a target in absolute form (`http://host/path`) into origin form (`/path`), with the host of the target as its `Host`, whatever
 * the header was: so all that reads a request, the check of its host first, reads the same URL (RFC 9112 § 3.2.2).
 *
 * @returns whether the target has a form that is served: a path, a URL, or `*` for OPTIONS
 */
export function toOriginForm(request: IncomingMessage): boolean {
  const { url = '', method } = request
  if (url.charCodeAt(0) === slash) return true
  if (url === '*') return method === 'OPTIONS'
  const found = absolute.exec(url)
  if (!found) return false
  const [start, authority] = found as unknown as [string, string]
  const rest = url.slice(start.length)
  request.url = rest.startsWith('/') ? rest : `/${rest}`
  setHost(request, authority)
  return true
}

/** Sets the `Host` header of a request, in `headers` and in `rawHeaders`. */
export function setHost(request: IncomingMessage, host: string): void {
  request.headers.host = host
  const { rawHeaders } = request
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.toLowerCase() === 'host') rawHeaders[at + 1] = host
}
