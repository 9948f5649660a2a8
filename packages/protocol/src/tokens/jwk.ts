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

export const jwks = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(100) })

/** What a thumbprint is taken of (RFC 7638 § 3): members required for the key type, in lexical order, no white space. */
export function thumbprintInput({ crv, kty, x, y }: PublicJwk): string {
  return JSON.stringify({ crv, kty, x, y })
}
