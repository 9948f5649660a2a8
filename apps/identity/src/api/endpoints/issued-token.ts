import {
  accessProfile,
  type BaseClaims,
  developerIdProfile,
  edgeAudience,
  edgeIdProfile,
  type JsonObject,
  leaseProfile,
  parseJws,
  personProfile,
  TokenError,
  type TokenProfile,
} from '@selvedge/protocol/tokens'
import type { RevocableClaims, TokenVerifier } from '@selvedge/service-kit/tokens'
import type { SignIn, SignIns } from '../../registry/sign-ins/sign-ins.ts'

/** A token that this service issued, of any kind. Its expiry and its revocation are not checked yet. */
export type IssuedToken =
  | {
      readonly kind: 'access' | 'developer' | 'edge' | 'lease'
      readonly claims: BaseClaims & RevocableClaims & { readonly exp: number }
    }
  | { readonly kind: 'refresh'; readonly signIn: SignIn }

/** The client of a token; undefined for edge ID tokens, which belong to a node only. */
export function clientOf(token: IssuedToken): string | undefined {
  if (token.kind === 'refresh') return token.signIn.clientId
  if (token.kind === 'developer') return token.claims.aud as string
  return token.claims.client_id
}

/**
 * Recognizes a token of this service by its form and its signature.
 *
 * @param verifier believes this service's own keys only
 * @returns undefined if this service did not issue it
 */
export async function readIssuedToken(
  token: string,
  verifier: TokenVerifier,
  signIns: SignIns,
  issuer: string,
): Promise<IssuedToken | undefined> {
  const signIn = await signIns.find(token)
  if (signIn) return { kind: 'refresh', signIn }
  try {
    const { header, payload } = parseJws(token)
    const [kind, profile, audience] = profileOf(header, payload, issuer)
    return { kind, claims: (await verifier.verifyEnded(token, profile, audience)) as never }
  } catch (cause) {
    // Anything else means that this cannot be decided now.
    if (cause instanceof TokenError) return undefined
    throw cause
  }
}

type Kind = 'access' | 'developer' | 'edge' | 'lease'

/** What a token has to be by its own words. A token of another kind, or without an audience, is refused by its verification. */
function profileOf(
  { typ }: JsonObject,
  { aud }: JsonObject,
  issuer: string,
): [Kind, TokenProfile<BaseClaims>, string] {
  const audiences = [aud].flat()
  const first = String(audiences[0])
  if (typ === edgeIdProfile.typ) return ['edge', edgeIdProfile, first]
  if (typ === leaseProfile.typ) return ['lease', leaseProfile, first]
  if (typ === developerIdProfile.typ) return ['developer', developerIdProfile, first]
  return audiences.includes(edgeAudience)
    ? ['access', accessProfile, edgeAudience]
    : ['access', personProfile, issuer]
}
