/**
 * Work that a caller began and that may last longer than its token, such as a download. It ends when the account leaves the device, and when
 * the project is turned off or removed; not when the token expires or its sign-in is revoked.
 */
import { RpcError } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import type { StateStore } from '../state.ts'
import type { LastingAnswers } from './lasting.ts'
import type { Revocations } from './revocations.ts'

/** What the token has that began the work. Without `iat`, such as for a service, only the account counts. */
export interface Beginner extends Pick<AccessClaims, 'account_id' | 'client_id'> {
  readonly iss?: string | undefined
  /** Unix seconds. */
  readonly iat?: number | undefined
  readonly epoch?: number | undefined
}

/**
 * Checks each second.
 *
 * @param end called once, with `wrong_account` or `token_revoked`
 * @returns what to call after the work
 */
export type WatchWork = (beginner: Beginner, end: (cause: RpcError) => void) => () => void

interface Parts {
  readonly state: Pick<StateStore, 'value'>
  readonly revocations: Pick<Revocations, 'reasonFor'>
  readonly lasting: Pick<LastingAnswers, 'watch'>
}

export function createWatchWork({ state, revocations, lasting }: Parts): WatchWork {
  return ({ account_id: accountId, client_id, iss, iat, epoch }, end) => {
    // The ID of no token: what revokes a token alone does not end the work. One object, by which the hashes are cached.
    const claims = {
      ...{ jti: '', client_id, iss: iss ?? '', iat: iat ?? 0 },
      ...(epoch !== undefined && { epoch }),
    }

    function expectWanted(): void {
      const { accountId: present, revokedUntil } = state.value
      if (present !== accountId || (iat !== undefined && iat <= (revokedUntil[accountId] ?? -1)))
        throw new RpcError('wrong_account', 'the account was removed from this runtime meanwhile')
      const revoked = iat === undefined ? undefined : revocations.reasonFor(claims as AccessClaims)
      if (revoked !== undefined)
        throw new RpcError('token_revoked', `the token that began this was revoked: ${revoked}`)
    }

    return lasting.watch({ expectAllowed: expectWanted, verifyAgain: async () => undefined, end })
  }
}
