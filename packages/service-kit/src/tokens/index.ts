/** Tokens with keys: signing, verifying, proofs of possession, HMAC codes. Synchronous `node:crypto` throughout. */
export {
  createDpopVerifier,
  createProof,
  type DpopVerifier,
  type SharedDpopVerifier,
  shareDpopVerifier,
  type VerifiedProof,
} from './dpop.ts'
export { importPublicKey, nodeIdOf, signEs256, thumbprint, verifyEs256 } from './es256.ts'
export { type ForeignKeySet, readForeignKeySet } from './foreign-keys.ts'
export { agreeHmacSecret, createHmacCode, type HmacVerdict, hmacIssuer, verifyHmacCode } from './hmac-code.ts'
export { readKeySet } from './key-cache.ts'
export { RecentMap } from './recent-map.ts'
export { createRemoteIssuer, type KeyStore, logOutcome, type RemoteIssuer } from './remote-issuer.ts'
export {
  type Ending,
  findRevocation,
  isIssuedBefore,
  type RevocableClaims,
  type RevocationKind,
  revocationEntry,
} from './revocation.ts'
export { deriveKey, openBytes, sealBytes } from './sealed-bytes.ts'
export {
  createSessionKeeper,
  type NodeSession,
  offerSession,
  type SessionKeeper,
  type SessionRequestParts,
} from './session.ts'
export { createJwsSigner, signJws } from './sign.ts'
export { verifySignedTime } from './signed-time.ts'
export { createTokenVerifier, type Issuer, type TokenVerifier } from './verifier.ts'
