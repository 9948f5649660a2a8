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
    const match = /^([0-9a-f-]{36})\.(\d{1,12})\.[\w-]{43}$/.exec(token)
    if (!match) return undefined
    const [, sid, number] = match as unknown as [string, string, string]
    const expected = Buffer.from(make(sid, Number(number)))
    const given = Buffer.from(token)
    if (expected.length !== given.length || !timingSafeEqual(expected, given)) return undefined
    return { sid, generation: Number(number) }
  }

  return { make, parse }
}
