import { consoleCookies } from '@selvedge/protocol'
import { cookieLife } from './sessions.ts'

/** The session cookie. Under TLS its name binds it to this very host (RFC 6265bis § 4.1.3.2). */
export interface SessionCookie {
  read(header: string | undefined): string | undefined
  /** Value of Set-Cookie. @param secret undefined: the cookie goes */
  write(secret: string | undefined): string
}

export function createSessionCookie(isSecure: boolean): SessionCookie {
  const name = isSecure ? consoleCookies.secure : consoleCookies.plain
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  return {
    read(header = '') {
      for (const part of header.split(';')) {
        const [key, value] = part.trim().split('=', 2)
        if (key === name && value) return value
      }
      return undefined
    },
    write: (secret) =>
      `${name}=${secret ?? ''}; ${attributes}; Max-Age=${secret === undefined ? 0 : cookieLife}`,
  }
}
