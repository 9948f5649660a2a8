/** Reports the account of this node to the registry, and learns what the registry knows of it. */
import { OAuthFailure } from '@selvedge/client'
import type { EdgeTokenResponse } from '@selvedge/protocol'
import type { NodeStatement } from '@selvedge/protocol/tokens'
import type { Log } from '@selvedge/service-kit/log'
import type { Learned } from '@selvedge/service-kit/store'
import type { Notices } from '../node/notices.ts'
import type { RuntimeState, StateStore } from '../state.ts'
import type { RequestEdgeToken } from './edge-token-request.ts'

type Report = NonNullable<RuntimeState['report']>

export interface AccountReport {
  /**
   * Sends a request with the report that is due. If the service refuses the account, sends it without the report: the node still
   * gets its token, for the account that the registry has.
   */
  send(request: RequestEdgeToken, statement: NodeStatement): Promise<EdgeTokenResponse>
  /**
   * Learns what an answer confirms. If the disk refuses it, a report is sent again after a restart.
   *
   * @param reported the report that was due when the request was sent
   * @returns whether the token of the answer is for the present account
   */
  learn(answer: EdgeTokenResponse, reported: Report | null): boolean
  /** @param listener called when the owner removed the account from this node at the registry, at each answer until it is gone */
  onAccountRemoved(listener: (accountId: string) => void): void
}

export interface AccountReportParts {
  readonly state: StateStore
  readonly learned: Learned<RuntimeState>
  readonly log: Log
  readonly notices: Notices
}

/** Whether the registry has the account that was reported, and nothing else is to be reported by now. */
export const isConfirmed = (
  reported: Report | null,
  present: Report | null,
  registeredAccountId: string,
): boolean => reported !== null && present === reported && registeredAccountId === reported.id

/** An account that the owner removed at the registry is removed here, too, unless the node has a change to report. */
export const isRemovedHere = (
  removedAccountId: string | undefined,
  { accountId, report }: Pick<RuntimeState, 'accountId' | 'report'>,
): removedAccountId is string => removedAccountId === accountId && report === null

export function createAccountReport({ state, learned, log, notices }: AccountReportParts): AccountReport {
  /** The report that the service refused last. It is sent again with the next request: the reason may pass. */
  let refused: NodeStatement['account']
  let accountRemoved = (_accountId: string): void => undefined

  /** A registry that lost its data, or an operator, may have another account than this node: a person has to decide. */
  function compareAccounts(registered: string): void {
    const { accountId } = state.value
    if (registered === accountId) {
      notices.clear('account_differs')
      notices.clear('account_not_confirmed')
    } else if (!notices.has('account_not_confirmed'))
      notices.raise('account_differs', { registered, accountId })
  }

  return {
    async send(request, statement) {
      const { report } = state.value
      try {
        return await request({ ...statement, ...(report && { account: report }) })
      } catch (cause) {
        if (!report || !(cause instanceof OAuthFailure && cause.reason === 'invalid_grant')) throw cause
        notices.clear('account_differs')
        notices.raise('account_not_confirmed', { accountId: report.id, cause })
        refused = report
        return request(statement)
      }
    },
    learn(answer, reported) {
      if (answer.copied) notices.raise('device_copied', {})
      else notices.clear('device_copied')
      if (isRemovedHere(answer.removed_account, state.value)) {
        log.warn('the owner removed the account from this node', { accountId: answer.removed_account })
        accountRemoved(answer.removed_account)
      }
      const hmacCloudKey = answer.hmac_key
      const isNewKey = JSON.stringify(hmacCloudKey) !== JSON.stringify(state.value.hmacCloudKey)
      if (isNewKey || isConfirmed(reported, state.value.report, answer.account_id))
        learned.learn('registry', (value) => {
          const report = isConfirmed(reported, value.report, answer.account_id) ? null : value.report
          return { ...value, hmacCloudKey, report }
        })
      const { report } = state.value
      const isOfPresentAccount = report === null || report === refused
      if (isOfPresentAccount) compareAccounts(answer.account_id)
      return isOfPresentAccount
    },
    onAccountRemoved(listener) {
      accountRemoved = listener
    },
  }
}
