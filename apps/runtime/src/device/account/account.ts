import { defaultSharing, RpcError } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import type { StateStore } from '../state.ts'

export interface Account {
  /** @throws RpcError `already_associated` */
  associate(claims: AccessClaims, token: string): Promise<{ accountId: string }>
  /**
   * Has the account that the registry gave this node for its join key, unless it has one by now: it need not be reported.
   */
  join(accountId: string): Promise<void>
  unassociate(claims: AccessClaims): Promise<{ accountId: string }>
  /**
   * Ends the association because the registry reports that it was removed.
   *
   * @param until Unix seconds: tokens of the account that were issued up to then are refused
   */
  remove(accountId: string, until: number): Promise<void>
}

/** Maximum removed accounts in the state; beyond it, the one removed first is dropped. */
const maxRemoved = 1000

/**
 * @param onChange called after a changed association is on the disk; the runtime then reports it to the registry
 * @param isDisputed whether the registry lists the node under another account, or refused the stored access token as proof
 */
export function createAccount(
  state: StateStore,
  clock: Clock,
  onChange: () => void,
  isDisputed: () => boolean,
): Account {
  return {
    remove,
    async associate({ account_id: id }, token) {
      // Another call may be writing an association now; wait, and see it if it succeeds.
      await state.settled()
      // If the registry did not accept the stored token as proof, this one replaces it and is reported again.
      if (state.value.accountId === id && !isDisputed()) return { accountId: id }
      await state.update((value) => {
        const { accountId } = value
        if (accountId !== '' && accountId !== id) {
          throw new RpcError(
            'already_associated',
            `this runtime is already associated with account ${accountId}`,
          )
        }
        return { ...value, accountId: id, report: { id, access_token: token } }
      })
      onChange()
      return { accountId: id }
    },

    async join(accountId) {
      await state.update((value) =>
        value.accountId === '' && value.report === null ? { ...value, accountId } : value,
      )
      onChange()
    },

    async unassociate({ account_id: id, iat }) {
      const until = Math.max(Math.floor(clock.now() / 1000), iat)
      await remove(id, until)
      await untilAfter(until, clock)
      return { accountId: id }
    },
  }

  async function remove(id: string, until: number): Promise<void> {
    await state.update((value) => {
      const { [id]: before = 0, ...others } = value.revokedUntil
      const revokedUntil = Object.fromEntries([
        ...Object.entries(others).slice(-maxRemoved),
        [id, Math.max(before, until)],
      ])
      // Another account may have come since the caller looked.
      if (value.accountId !== id) return { ...value, revokedUntil }
      // Where the device was is the former account's business.
      const former = { fix: null, trackUntil: 0, accountKey: null, sharing: defaultSharing }
      return { ...value, ...former, accountId: '', report: { id: '' }, revokedUntil }
    })
    onChange()
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
