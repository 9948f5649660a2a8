/**
 * Joins an account by a join key. The key is in the requests for edge ID tokens until the device has an account; the answer is on the disk
 * first, and then the key is used up. With a key that is refused, the device works on without an account, and sends it again, less and less often.
 */
import { OAuthFailure } from '@selvedge/client'
import type { EdgeTokenResponse } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import type { Account } from '../account/account.ts'
import type { RequestEdgeToken } from '../cloud/edge-token-request.ts'
import type { Notices } from '../node/notices.ts'
import type { StateStore } from '../state.ts'
import type { FoundKey } from './find-key.ts'
import type { UsedKeys } from './used-keys.ts'

export interface Join {
  /** The same requests. They have the key while the device has to join. */
  wrap(request: RequestEdgeToken): RequestEdgeToken
  /** To be called before the first request. */
  connect(parts: JoinConnections): void
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
  readonly state: Pick<StateStore, 'value'>
  readonly notices: Notices
  readonly log: Log
  /** Serial number that the device states; undefined without one. */
  readonly serial: string | undefined
}

/** Milliseconds until the next request: of a device that waits for an approval, and after a refusal; each doubles. */
const delays = { waiting: { first: 30_000, max: 600_000 }, refused: { first: 60_000, max: 6 * 3_600_000 } }

export function createJoin({ found, used, state, notices, log, serial }: JoinParts): Join {
  let key = found?.key !== undefined && !used.has(found.key) ? found.key : undefined
  let connections: JoinConnections | undefined
  let timer: NodeJS.Timeout | undefined
  let delayMs = 0
  let outcome: keyof typeof delays | undefined
  /** Whether the key is in the next request. */
  let isDue = true
  if (found?.problem !== undefined) notices.raise('join_refused', { problem: found.problem })

  const hasAccount = () => state.value.accountId !== '' || state.value.report !== null

  async function useUp(): Promise<void> {
    if (key === undefined) return
    const own = key
    key = undefined
    clearTimeout(timer)
    notices.clear('join_waiting')
    notices.clear('join_refused')
    // If the disk refuses it, the next start writes it: the device has its account then.
    await used.add(own, found?.isCredential === true)
  }

  function askAgain(now: keyof typeof delays): void {
    const { first, max } = delays[now]
    delayMs = outcome === now ? Math.min(delayMs * 2, max) : first
    outcome = now
    isDue = now === 'waiting'
    clearTimeout(timer)
    const again = safely('join.again', async () => {
      isDue = true
      // If it fails, the contact with the service begins again.
      await connections?.again().catch(() => undefined)
    })
    timer = setTimeout(again, delayMs * (0.75 + Math.random() / 2))
    timer.unref()
  }

  async function learn(answer: EdgeTokenResponse): Promise<void> {
    if (answer.join === 'waiting') {
      notices.clear('join_refused')
      notices.raise('join_waiting', {})
      askAgain('waiting')
    }
    if (answer.join !== 'joined' || answer.account_id === '') return
    await connections!.account.join(answer.account_id)
    log.info('this device has joined an account by its join key', { accountId: answer.account_id })
    await useUp()
  }

  /** Whether a service refused the key, and would answer without it. */
  const isRefusal = (cause: unknown): boolean =>
    cause instanceof OAuthFailure && ['invalid_grant', 'temporarily_unavailable'].includes(cause.reason)

  if (hasAccount()) inBackground('join.used', useUp())
  return {
    wrap: (request) => async (statement) => {
      if (key === undefined || !isDue || hasAccount() || statement.account) return request(statement)
      let answer: EdgeTokenResponse
      try {
        answer = await request(statement, { key, ...(serial !== undefined && { serial }) })
      } catch (cause) {
        if (!isRefusal(cause)) throw cause
        notices.clear('join_waiting')
        notices.raise('join_refused', { cause })
        askAgain('refused')
        return request(statement)
      }
      await learn(answer)
      return answer
    },
    connect(parts) {
      connections = parts
    },
    accountChanged() {
      if (hasAccount()) inBackground('join.used', useUp())
    },
    stop: () => clearTimeout(timer),
  }
}
