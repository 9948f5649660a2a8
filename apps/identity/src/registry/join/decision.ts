/** Whether a device may join by a key, and why not. */
import type { JoinKey } from './join-keys.ts'

/** What a request with a join key leads to. `refused`: the reason, in words that follow "the join key is not accepted:". */
export type JoinDecision =
  | { readonly kind: 'member' | 'wait' | 'queue' | 'join' | 'approved' }
  | { readonly kind: 'refused'; readonly reason: string }

const refused = (reason: string): JoinDecision => ({ kind: 'refused', reason })

const endings = {
  revoked: 'it was revoked',
  expired: 'it has expired',
  maker: 'its maker is no owner of the account any more',
  project: 'its project is turned off or deleted',
  used_up: 'all its uses are used up',
} as const

/**
 * @param key undefined: no key has the secret
 * @returns `member`: the account has the device already; `wait`: it waits for an approval; `queue`: it begins to wait; `join`: it may
 *   join; `approved`: it may join by its approval
 */
export function decideJoin(key: JoinKey | undefined): JoinDecision {
  if (!key) return refused('no such key is known')
  const { accountId, leftAt } = key.device
  if (accountId === key.accountId) return { kind: 'member' }
  if (accountId !== '') return refused('the device belongs to another account')
  // The owner who removed the device decided later than the one who made the key.
  if (key.use === 'joined' || leftAt > key.epoch)
    return refused(
      'the device was removed from its account, or left it, after the key was made; use a newer key',
    )
  if (key.isRevoked) return refused(endings[key.ending ?? 'revoked'])
  if (key.use === 'refused') return refused('an owner refused this device')
  if (key.use === 'approved') return { kind: 'approved' }
  if (key.use === 'waiting') return { kind: 'wait' }
  if (key.ending !== undefined) return refused(endings[key.ending])
  return { kind: key.needsApproval ? 'queue' : 'join' }
}
