import { consoleCookies } from '@selvedge/protocol'
import { cookieSeconds } from '../../registry/credentials/sessions.ts'

/** The session cookie. Under TLS its name binds it to this host (RFC 6265bis § 4.1.3.2). */
export interface SessionCookie {
  /**
   * Every secret under the name of the cookie, up to eight: another web server on this host can add cookies of the same name,
   * and must not shadow the one of the session.
   */
  read(header: string | undefined): string[]
  /** Value of Set-Cookie. @param secret undefined removes the cookie */
  write(secret: string | undefined): string
}

/** Secrets of one request that are looked up. */
const maxSecrets = 8
const secretShape = /^[\w-]{43}$/

export function createSessionCookie(isSecure: boolean): SessionCookie {
  const name = isSecure ? consoleCookies.secure : consoleCookies.plain
  // Strict: pages need no session, and their own requests are of the same site wherever a link to them was.
  const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  return {
    read(header = '') {
      const secrets = new Set<string>()
      for (const part of header.split(';')) {
        const [key, value] = part.trim().split('=', 2)
        if (key === name && secretShape.test(value ?? '') && secrets.size < maxSecrets) secrets.add(value!)
      }
      return [...secrets]
    },
    write: (secret) =>
      `${name}=${secret ?? ''}; ${attributes}; Max-Age=${secret === undefined ? 0 : cookieSeconds}`,
  }
}
