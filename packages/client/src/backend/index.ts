/** For services that accept edge access tokens: nothing but verification, on WebCrypto, so that it runs anywhere. */

export type { AccessClaims } from '@selvedge/protocol/tokens'
export type { ProvenRequest } from './proof.ts'
export {
  AccessTokenError,
  type AccessTokenVerifier,
  type AccessTokenVerifierOptions,
  createAccessTokenVerifier,
} from './verifier.ts'
