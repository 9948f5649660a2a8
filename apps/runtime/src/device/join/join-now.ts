/** Joins by a key that a person gives to a runtime that runs. */
import type { OAuthFailure } from '@selvedge/client'
import { type Methods, type ResultOf, RpcError } from '@selvedge/protocol'
import { waitAtMost } from '@selvedge/service-kit/share'
import type { Notices } from '../node/notices.ts'
import type { StateStore } from '../state.ts'
import { waitLimitMs } from '../time-limits.ts'
import type { GivenKey } from './given-key.ts'

/** @throws RpcError `already_associated`, `join_key_refused`, or `busy` while another call joins */
export type JoinNow = (key: string) => Promise<ResultOf<Methods['joinAccount']>>

interface JoinNowParts {
  readonly given: Pick<GivenKey, 'store' | 'remove'>
  readonly state: Pick<StateStore, 'value'>
  readonly notices: Notices
  readonly hasAccount: () => boolean
  /** The key that is shown with requests. */
  readonly key: () => string | undefined
  readonly setKey: (key: string | undefined) => void
  /** Sends a request with the key. */
  readonly request: () => Promise<unknown>
  /** Why the last request with a key was refused. */
  readonly refusalOf: (key: string) => OAuthFailure | undefined
}

/** The key is stored first: a power cut does not lose it. */
export function createJoinNow({ given, state, notices, ...parts }: JoinNowParts): JoinNow {
  let isJoining = false

  async function join(key: string): ReturnType<JoinNow> {
    const before = parts.key()
    await given.store(key)
    parts.setKey(key)
    // Without an answer in time, the contact with the service continues.
    await waitAtMost(parts.request(), waitLimitMs, () => new Error('no answer')).catch(() => undefined)
    const refusal = parts.refusalOf(key)
    if (refusal && !parts.hasAccount()) {
      await given.remove()
      parts.setKey(before)
      throw new RpcError('join_key_refused', refusal.message, { cause: refusal })
    }
    const { accountId } = state.value
    if (accountId !== '') return { accountId, state: 'joined' }
    return { accountId, state: notices.has('join_waiting') ? 'waiting' : 'trying' }
  }

  return async (key) => {
    if (parts.hasAccount())
      throw new RpcError('already_associated', `this runtime has the account ${state.value.accountId}`)
    if (isJoining) throw new RpcError('busy', 'the runtime joins an account now')
    isJoining = true
    try {
      return await join(key)
    } finally {
      isJoining = false
    }
  }
}
