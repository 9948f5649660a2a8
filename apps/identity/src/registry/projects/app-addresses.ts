/**
 * Which redirect URIs and origins an app may have, and whether a redirect URI of a request is one of them. They are compared as texts:
 * what has a second spelling is refused when it is registered.
 */
import type { AppType } from '@selvedge/protocol'

/** Printable ASCII without what URL parsers of browsers and servers read in different ways. */
const plainText = /^[!#-;=?-[\]_a-z~]+$/
/** A private-use scheme is a domain name in reverse, so it has a dot (RFC 8252 § 7.1); "javascript" and "data" have no dot. */
const privateScheme = /^[a-z][a-z\d-]*(?:\.[a-z\d-]+)+:\/(?!\/\/)/
const loopbackHosts = ['127.0.0.1', '[::1]', 'localhost']
/** An IP address of the loopback interface, and its port if there is one (RFC 8252 § 7.3). */
const loopbackPort = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::([1-9]\d{0,4}))?(?=\/)/
/** Names of the members of an answer: a registered query must not contain them. */
const answerNames = ['code', 'state', 'iss', 'error', 'error_description']

/** @returns why a URI may not be a redirect URI of an app of this type, in words; undefined if it may */
export function redirectUriProblem(uri: string, appType: AppType): string | undefined {
  if (!plainText.test(uri)) return 'it has a character that does not belong in a URI'
  if (uri.includes('#')) return 'it has a fragment'
  if (uri.includes('*')) return 'it has a wildcard; list each URI'
  const url = URL.parse(uri)
  if (!url) return 'it is not an absolute URI'
  // Another spelling of one is not in its normal form.
  if (/^[a-z.+\d-]+:\/\/[^/?]*@/.test(uri)) return 'it contains a user name'
  if (url.href !== uri) return `it is not in its normal form: write "${url.href}"`
  const taken = answerNames.find((name) => url.searchParams.has(name))
  if (taken !== undefined) return `its query has "${taken}", which the answer has`
  return schemeProblem(uri, url, appType)
}

function schemeProblem(uri: string, url: URL, appType: AppType): string | undefined {
  if (url.protocol === 'https:') return undefined
  if (url.protocol === 'http:')
    return loopbackHosts.includes(url.hostname) ? undefined : 'it is not https, and not of this device'
  if (appType !== 'native') return 'it is not https'
  return privateScheme.test(uri)
    ? undefined
    : 'its scheme is neither https nor a domain name in reverse, such as com.example.app:/signed-in'
}

/** @returns why a text is not the origin of a page, in words; undefined if it is one */
export function originProblem(origin: string): string | undefined {
  const url = origin.includes('*') ? null : URL.parse(origin)
  if (!url || url.origin !== origin)
    return 'it is not an origin as browsers send it, such as https://app.example'
  if (url.protocol === 'https:') return undefined
  if (url.protocol === 'http:' && loopbackHosts.includes(url.hostname)) return undefined
  return 'it is not https, and not of this device'
}

/**
 * Whether the redirect URI of a request is a registered one: the same text (RFC 9700 § 2.1). Only the port of an IP address of the
 * loopback interface may differ, and only for an installed program (RFC 8252 § 7.3).
 */
export function isRegistered(uri: string, registered: readonly string[], appType: AppType): boolean {
  if (registered.includes(uri)) return true
  if (appType !== 'native') return false
  const anyPort = withoutPort(uri)
  return anyPort !== undefined && registered.some((each) => withoutPort(each) === anyPort)
}

/** A URI of the loopback interface without its port; undefined if it is another one, or has no valid port. */
function withoutPort(uri: string): string | undefined {
  const [start, origin, port = '80'] = loopbackPort.exec(uri) ?? []
  return start === undefined || Number(port) > 65_535 ? undefined : origin + uri.slice(start.length)
}

/** Whether only the app can get what is sent to a redirect URI: another program can claim a scheme or a port (RFC 8252 § 8.6). */
export const isClaimed = (uri: string): boolean => uri.startsWith('https://')
