/** Public P-256 keys as JWK (RFC 7517, RFC 7518 § 6.2). */
import * as z from 'zod'
import { decodeBase64url } from './base64url.ts'

const coordinate = z
  .string()
  .refine((text) => decodeBase64url(text)?.length === 32, 'is not 32 bytes in base64url')

export const publicJwk = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: coordinate,
  y: coordinate,
})

export type PublicJwk = z.infer<typeof publicJwk>

/** A key of a published set. */
export const jwkOfSet = publicJwk.extend({
  kid: z.string().min(1),
  alg: z.literal('ES256'),
  use: z.literal('sig'),
})

const jwks = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(100) })

/**
 * The usable keys of a published set, by `kid`. What is not an ES256 signing key is left out (RFC 7517 § 5), and so are keys that
 * share an id, since it does not say which of them is meant. Whether a key is a point of the curve is for the caller to check.
 *
 * @throws Error if it is no key set
 */
export function readJwks(json: unknown): Map<string, PublicJwk> {
  const keys = new Map<string, PublicJwk>()
  const seen = new Set<unknown>()
  for (const each of jwks.parse(json).keys) {
    const jwk = jwkOfSet.safeParse(each)
    if (seen.has(each.kid)) keys.delete(each.kid as string)
    else if (jwk.success) keys.set(jwk.data.kid, publicJwk.parse(jwk.data))
    seen.add(each.kid)
  }
  return keys
}

/** The input of a thumbprint (RFC 7638 § 3): members required for the key type, in lexical order, no white space. */
export function thumbprintInput({ crv, kty, x, y }: PublicJwk): string {
  return JSON.stringify({ crv, kty, x, y })
}
