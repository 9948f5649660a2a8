/**
 * The text of refresh tokens: `<sid>.<generation>.<seal>`. The seal is an HMAC, so the same generation of a sign-in always has the
 * same token, and no token has to be stored.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'

export interface RefreshTokens {
  make(sid: string, generation: number): string
  /** @returns undefined if this service did not make the token */
  parse(token: string): { readonly sid: string; readonly generation: number } | undefined
}

/** @param secret the same for all replicas */
export function createRefreshTokens(secret: Buffer): RefreshTokens {
  const key = createSecretKey(secret)
  const make = (sid: string, generation: number) => {
    const seal = createHmac('sha256', key).update(`refresh ${sid} ${generation}`).digest('base64url')
    return `${sid}.${generation}.${seal}`
  }

  const parse: RefreshTokens['parse'] = (token) => {
    // Any text has two parts here; only the one spelling that was sealed is equal to its seal.
    const [sid, number] = token.split('.', 2)
    const generation = Number(number)
    const expected = Buffer.from(make(sid!, generation))
    const given = Buffer.from(token)
    if (expected.length !== given.length || !timingSafeEqual(expected, given)) return undefined
    return { sid: sid!, generation }
  }

  return { make, parse }
}
