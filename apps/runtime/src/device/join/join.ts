/**
 * Joins an account by a join key. The key is in the requests for edge ID tokens until the device has an account; the answer is on the disk
 * first, and then the key is used up. With a key that is refused, the device works on without an account, and sends it again, less and less often.
 */
import { OAuthFailure } from '@selvedge/client'
import type { EdgeTokenResponse } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import { inBackground } from '@selvedge/service-kit/safely'
import type { Account } from '../account/account.ts'
import type { RequestEdgeToken } from '../cloud/edge-token-request.ts'
import type { Notices } from '../node/notices.ts'
import type { StateStore } from '../state.ts'
import { createAgain, type Outcome } from './again.ts'
import type { FoundKey } from './find-key.ts'
import type { GivenKey } from './given-key.ts'
import { createJoinNow, type JoinNow } from './join-now.ts'
import type { UsedKeys } from './used-keys.ts'

export interface Join {
  /** The same requests. They have the key while the device has to join. */
  wrap(request: RequestEdgeToken): RequestEdgeToken
  /** To be called before the first request. */
  connect(parts: JoinConnections): void
  /** Joins by a key that a person gives now. */
  readonly joinAccount: JoinNow
  /** To be called when the account of the device has changed, and that is on the disk. */
  accountChanged(): void
  stop(): void
}

interface JoinConnections {
  readonly account: Pick<Account, 'join'>
  /** Requests an edge ID token again. */
  readonly again: () => Promise<unknown>
}

export interface JoinParts {
  readonly found: FoundKey | undefined
  readonly used: UsedKeys
  readonly given: Pick<GivenKey, 'store' | 'remove'>
  readonly state: Pick<StateStore, 'value'>
  readonly notices: Notices
  readonly log: Log
  /** Serial number that the device states; undefined without one. */
  readonly serial: string | undefined
}

interface Refusal {
  readonly key: string
  readonly cause: OAuthFailure
}

export function createJoin({ found, used, given, state, notices, log, serial }: JoinParts): Join {
  let key = found?.key !== undefined && !used.has(found.key) ? found.key : undefined
  let refusal: Refusal | undefined
  let connections: JoinConnections | undefined
  /** Whether the key is in the next request. */
  let isDue = true
  const again = createAgain(async () => {
    isDue = true
    // If it fails, the contact with the service begins again.
    await connections?.again().catch(() => undefined)
  })
  if (found?.problem !== undefined) notices.raise('join_refused', { problem: found.problem })

  const hasAccount = () => state.value.accountId !== '' || state.value.report !== null

  function setKey(next: string | undefined): void {
    key = next
    isDue = true
    refusal = undefined
    again.clear()
    for (const each of ['join_waiting', 'join_refused'] as const) notices.clear(each)
  }

  async function useUp(): Promise<void> {
    if (key === undefined) return
    const own = key
    setKey(undefined)
    // If the disk refuses it, the next start writes it: the device has its account then.
    await used.add(own, own === found?.key && found.isCredential === true)
    await given.remove()
  }

  function askAgain(outcome: Outcome, cause?: OAuthFailure): void {
    isDue = outcome === 'waiting'
    notices.clear(outcome === 'waiting' ? 'join_refused' : 'join_waiting')
    notices.raise(`join_${outcome}`, { cause })
    again.after(outcome)
  }

  async function learn(answer: EdgeTokenResponse): Promise<void> {
    if (answer.join === 'waiting') askAgain('waiting')
    if (answer.join !== 'joined' || answer.account_id === '') return
    await connections!.account.join(answer.account_id)
    log.info('this device has joined an account by its join key', { accountId: answer.account_id })
    await useUp()
  }

  const followAccount = () => {
    if (hasAccount()) inBackground('join.used', useUp())
  }
  followAccount()
  return {
    joinAccount: createJoinNow({
      ...{ given, state, notices, hasAccount, setKey, key: () => key },
      request: () => connections!.again(),
      refusalOf: (each) => (refusal?.key === each ? refusal.cause : undefined),
    }),
    wrap: (request) => async (statement) => {
      const shown = key
      if (shown === undefined || !isDue || hasAccount() || statement.account) return request(statement)
      let answer: EdgeTokenResponse
      try {
        answer = await request(statement, { key: shown, ...(serial !== undefined && { serial }) })
      } catch (cause) {
        if (!isRefusal(cause)) throw cause
        refusal = { key: shown, cause }
        // A person may have given another key meanwhile.
        if (shown === key) askAgain('refused', cause)
        return request(statement)
      }
      await learn(answer)
      return answer
    },
    connect(parts) {
      connections = parts
    },
    accountChanged: followAccount,
    stop: again.clear,
  }
}

/** Whether a service refused the key, and would answer without it. */
const isRefusal = (cause: unknown): cause is OAuthFailure =>
  cause instanceof OAuthFailure && ['invalid_grant', 'temporarily_unavailable'].includes(cause.reason)
