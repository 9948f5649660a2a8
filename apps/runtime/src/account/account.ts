import { RpcError } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import type { StateStore } from '../state.ts'

export interface Account {
  /** @throws RpcError `already_associated` */
  associate(claims: AccessClaims, token: string): Promise<{ accountId: string }>
  unassociate(claims: Pick<AccessClaims, 'account_id' | 'iat'>): Promise<{ accountId: string }>
}

/** Most removed accounts that are remembered; beyond it the ones removed first are forgotten. */
const maxRemoved = 1000

/** @param onChange called when the account is another one, for the registry to be told */
export function createAccount(state: StateStore, clock: Clock, onChange: () => void): Account {
  return {
    async associate({ account_id: id }, token) {
      // Somebody else's call may be writing the same: it counts when it is on the disk, and is taken back where it fails.
      if (state.value.accountId === id) await state.settled()
      const { accountId } = state.value
      if (accountId === id) return { accountId }
      if (accountId !== '') {
        throw new RpcError(
          'already_associated',
          `this runtime is associated with account ${accountId} already`,
        )
      }
      const kept = state.update((value) => ({ ...value, accountId: id, report: { id, access_token: token } }))
      onChange()
      await kept
      return { accountId: id }
    },

    async unassociate({ account_id: id, iat }) {
      const until = Math.max(Math.floor(clock.now() / 1000), iat)
      const kept = state.update((value) => ({
        ...value,
        accountId: '',
        report: { id: '' },
        // Where the device was is the former account's business.
        fix: null,
        revokedUntil: Object.fromEntries([
          ...Object.entries(value.revokedUntil).slice(-maxRemoved),
          [id, until],
        ]),
      }))
      onChange()
      await kept
      await untilAfter(until, clock)
      return { accountId: id }
    },
  }
}

/**
 * Tokens say in whole seconds when they were issued. Waiting for the second to be over keeps one that is issued right after
 * the answer from looking like one from before; where the clocks are far apart the wait is not worth it.
 */
async function untilAfter(second: number, clock: Clock): Promise<void> {
  const left = (second + 1) * 1000 - clock.now()
  if (left > 0 && left <= 1000) await new Promise((resolve) => setTimeout(resolve, left))
}
