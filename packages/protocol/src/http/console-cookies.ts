/** The session cookies of the console. A browser sends them to every port of the console's host (RFC 6265 § 8.5). */
export const consoleCookies = { plain: 'selvedge_session', secure: '__Host-selvedge' } as const

/**
 * A session cookie of the console at the start of a `Set-Cookie` header or of a pair of a `Cookie` header. In any case, with
 * spaces, in quotes, behind a comma, and as the value of a cookie without a name (`=selvedge_session=x`), which a browser
 * sends like a cookie of that name.
 */
const consoleCookie = /(?:^|,)[ \t="]*(?:selvedge_session|__host-selvedge)[ \t"]*(?:=|;|$)/i

/** Whether a `Set-Cookie` header, or one pair of a `Cookie` header, is or could be read as a session cookie of the console. */
export const isConsoleCookie = (text: string): boolean => consoleCookie.test(text)

/**
 * A `Cookie` header without the session cookies of the console.
 *
 * @returns "" if no cookie remains
 */
export function withoutConsoleCookies(header: string): string {
  // Quotes are not read: a browser ends a cookie at each semicolon.
  const kept = header.split(';').filter((pair) => !isConsoleCookie(pair))
  return kept.join(';').trim()
}
