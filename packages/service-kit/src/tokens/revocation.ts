/** What revokes a token before it ends: its own end, that of the sign-in it came from, or a time set for its account, node or client. */
import { createHash } from 'node:crypto'

export type RevocationKind = 'id' | 'account' | 'node' | 'client'

/** As much of a token's claims as decides. */
export interface RevocableClaims {
  readonly jti: string
  readonly iat: number
  readonly sid?: string
  readonly account_id?: string
  readonly node_id?: string
  readonly client_id?: string
}

/**
 * Whether a token was revoked, and by what, in words.
 *
 * @param before Unix second before which tokens of a subject must not have been issued; undefined where nothing is known of it
 */
export function findRevocation(
  { jti, iat, sid, account_id, node_id, client_id }: RevocableClaims,
  before: (kind: RevocationKind, subject: string) => number | undefined,
): string | undefined {
  if (before('id', jti) !== undefined) return 'it was revoked'
  if (sid !== undefined && before('id', sid) !== undefined) return 'the sign-in that it came from was revoked'
  const ends = (kind: RevocationKind, subject: string | undefined) =>
    subject !== undefined && iat < (before(kind, subject) ?? 0)
  if (ends('account', account_id)) return 'its account revoked all tokens of that time'
  if (ends('node', node_id)) return 'its node was blocked or removed after it was issued'
  if (ends('client', client_id)) return 'its project was turned off or removed after it was issued'
  return undefined
}

/** How a subject stands in the public list: so that the list names nobody. */
export const revocationEntry = (kind: RevocationKind, subject: string): string =>
  createHash('sha256').update(`${kind}:${subject}`).digest().toString('base64url', 0, 16)
