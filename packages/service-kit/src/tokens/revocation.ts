/**
 * What revokes a token before it ends: its own end, that of the sign-in it came from, or a time set for its account, node or
 * client.
 */
import { createHash } from 'node:crypto'

/** `edge`: the edge ID tokens of a node, but not its access tokens. `lease`: the leases of a client, but not its access tokens. */
export type RevocationKind = 'id' | 'account' | 'node' | 'client' | 'edge' | 'lease'

/** As much of a token's claims as decides. */
export interface RevocableClaims {
  readonly jti: string
  readonly iat: number
  /** Number of the newest change that the issuer knew; absent in tokens from before there was one. */
  readonly epoch?: number
  readonly sid?: string
  readonly account_id?: string
  readonly node_id?: string
  readonly client_id?: string
  /** Set for a lease. */
  readonly isLease?: true
}

/** What a subject's tokens must not be older than. */
export interface Ending {
  /** Number of the change that revoked them: it needs no clock. Absent in lists from before there was one. */
  readonly epoch?: number | undefined
  /** Unix second, for tokens without an epoch. */
  readonly notBefore: number
}

/** Whether a token was issued before a revocation. If the token has a number, the number decides: clocks jump and differ. */
export const isIssuedBefore = (
  { iat, epoch }: Pick<RevocableClaims, 'iat' | 'epoch'>,
  ending: Ending,
): boolean =>
  epoch !== undefined && ending.epoch !== undefined ? epoch < ending.epoch : iat < ending.notBefore

/**
 * Whether a token was revoked, and by what, in words.
 *
 * @param endingOf what is known of a token, a sign-in, an account, a node or a client; undefined: it was not revoked
 */
export function findRevocation(
  claims: RevocableClaims,
  endingOf: (kind: RevocationKind, subject: string) => Ending | undefined,
): string | undefined {
  const { jti, sid, account_id, node_id, client_id } = claims
  if (endingOf('id', jti)) return 'it was revoked'
  if (sid !== undefined && endingOf('id', sid)) return 'the sign-in that it came from was revoked'
  const ends = (kind: RevocationKind, subject: string | undefined) => {
    const ending = subject === undefined ? undefined : endingOf(kind, subject)
    return ending !== undefined && isIssuedBefore(claims, ending)
  }
  // An edge ID token names a node and no client. Its time decides, also at the issuer: later tokens of the node stay valid.
  if (node_id !== undefined && client_id === undefined) {
    const { notBefore = 0 } = endingOf('edge', node_id) ?? {}
    if (claims.iat < notBefore) return 'it was revoked'
  }
  if (ends('account', account_id)) return 'its account revoked all tokens of that time'
  if (ends('node', node_id)) return 'its node was blocked or removed after it was issued'
  if (claims.isLease && ends('lease', client_id)) return 'its project revoked its leases after it was issued'
  if (ends('client', client_id)) return 'its project was turned off or removed after it was issued'
  return undefined
}

/** The hash of a subject for the public list, which contains no names. */
export const revocationEntry = (kind: RevocationKind, subject: string): string =>
  createHash('sha256').update(`${kind}:${subject}`).digest().toString('base64url', 0, 16)
