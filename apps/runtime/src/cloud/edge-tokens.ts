/**
 * Edge ID tokens from the cloud. One request does all that a node and its cloud have to say to each other: it enrols the
 * node, reports the account, agrees on the HMAC secret, and returns the time and a token. It can be repeated.
 */
import { randomUUID } from 'node:crypto'
import { ConnectionFailure, type IdentityClient, isSelvedgeError, OAuthFailure } from '@selvedge/client'
import { type EdgeTokenResponse, identityPaths, RpcError, version } from '@selvedge/protocol'
import type { NodeStatement } from '@selvedge/protocol/tokens'
import type { Log } from '@selvedge/service-kit/log'
import { createProof, type Issuer, verifySignedTime } from '@selvedge/service-kit/tokens'
import type { NodeKey } from '../node/node-key.ts'
import type { Notices } from '../node/notices.ts'
import type { StateStore } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'
import type { Link } from './link.ts'

export interface EdgeTokens {
  /**
   * A token for the tenants, or for another audience. From memory until a minute before it ends.
   *
   * @throws RpcError `identity_unavailable`
   */
  get(audience?: string): Promise<string>
  /** Reports the current state to the cloud. */
  report(): Promise<void>
  /** Forgets tokens that show an account that is not the present one. */
  forget(): void
  /** @param listener called when the owner removed the account from this node at the registry, at each report until it is gone */
  onAccountRemoved(listener: (accountId: string) => void): void
}

/** Milliseconds before its end at which a token is not given out any more. */
const margin = 60_000
/** Milliseconds that a local call may wait for the cloud. */
const timeoutMs = 4000

export interface EdgeTokenParts {
  readonly key: NodeKey
  readonly nodeId: string
  /** The identity service as an issuer: it signs the time. */
  readonly issuer: Issuer
  readonly name: string
  readonly url: string
  readonly enrolmentCode: string
  readonly client: IdentityClient
  readonly state: StateStore
  readonly clock: DeviceClock
  readonly link: Link
  readonly log: Log
  readonly notices: Notices
  /** What runs here, for the owner to see. */
  readonly services: () => NonNullable<NodeStatement['services']>
}

export function createEdgeTokens(parts: EdgeTokenParts): EdgeTokens {
  const { key, url, client, state, clock, link, log, notices } = parts
  const tokens = new Map<string, { token: string; endsAt: number }>()
  const running = new Map<string, Promise<string>>()
  /** The report of the account that the service refused last. It is sent again with the next token: a refusal may pass. */
  let refused: NodeStatement['account']
  let accountRemoved = (_accountId: string): void => undefined

  function statement(audience: string): NodeStatement {
    const { report } = state.value
    return {
      name: parts.name,
      hmac_key: key.agreement.jwk,
      version,
      services: parts.services(),
      ...(audience !== '' && { audience }),
      ...(parts.enrolmentCode !== '' && { enrolment_code: parts.enrolmentCode }),
      ...(report && { account: report }),
    }
  }

  async function request(node: NodeStatement): Promise<EdgeTokenResponse> {
    const { privateKey, jwk } = key.signing
    const htu = url + identityPaths.edgeToken
    const timeNonce = randomUUID()
    const asked = { ...node, time_nonce: timeNonce }
    const prove = (nonce: string | undefined) =>
      createProof({ key: privateKey, jwk, htm: 'POST', htu, clock, nonce, node: asked })
    const sentAt = clock.monotonic()
    const answer = await client.edgeToken(prove, { signal: AbortSignal.timeout(timeoutMs) })
    link.succeeded()
    await learnTime(answer.time_token, timeNonce, { sentAt, answeredAt: clock.monotonic() })
    return answer
  }

  /** Accepts a time only if the identity service signed it for the nonce of this request: any other may be forged or replayed. */
  async function learnTime(
    token: string | undefined,
    nonce: string,
    at: { readonly sentAt: number; readonly answeredAt: number },
  ): Promise<void> {
    if (token === undefined) return
    try {
      clock.learn(await verifySignedTime(token, parts.issuer, { nonce, nodeId: parts.nodeId }), at)
      state.updateLazily((value) => ({ ...value, timeFloor: clock.now() }))
    } catch (cause) {
      log.warn('the time of the identity service is not believed', { cause })
    }
  }

  /** If the service refuses the account, the node still gets its token, of the account that the registry has. */
  async function requestWithReport(audience: string): Promise<EdgeTokenResponse> {
    const stated = statement(audience)
    try {
      return await request(stated)
    } catch (cause) {
      const { account, ...rest } = stated
      if (!account || !(cause instanceof OAuthFailure && cause.reason === 'invalid_grant')) throw cause
      notices.clear('account_differs')
      notices.raise('account_not_confirmed', { accountId: account.id, cause })
      refused = account
      return request(rest)
    }
  }

  async function fetchToken(audience: string): Promise<string> {
    const reported = state.value.report
    const answer = await requestWithReport(audience)
    const cloudKey = answer.hmac_key
    const removed = answer.removed_account
    if (removed !== undefined && removed === state.value.accountId && state.value.report === null) {
      log.warn('the owner removed the account from this node', { accountId: removed })
      accountRemoved(removed)
    }
    const confirmed =
      reported !== null && state.value.report === reported && answer.account_id === reported.id
    if (confirmed || JSON.stringify(cloudKey) !== JSON.stringify(state.value.hmacCloudKey)) {
      await state.update((value) => ({
        ...value,
        hmacCloudKey: cloudKey,
        report: confirmed && value.report === reported ? null : value.report,
      }))
    }
    // With something new to report, the token may be of the former account: it is given out once and not kept.
    const { report } = state.value
    if (report === null || report === refused) {
      tokens.set(audience, { token: answer.id_token, endsAt: clock.elapsed() + answer.expires_in * 1000 })
      compareAccounts(answer.account_id)
    }
    return answer.id_token
  }

  /** A registry that lost its data, or an operator, may know another account than this node does: a person has to decide. */
  function compareAccounts(registered: string): void {
    const { accountId } = state.value
    if (registered === accountId) {
      notices.clear('account_differs')
      notices.clear('account_not_confirmed')
    } else if (!notices.has('account_not_confirmed'))
      notices.raise('account_differs', { registered, accountId })
  }

  function explain(cause: unknown): RpcError {
    if (!isSelvedgeError(cause)) throw cause
    const timedOut = cause instanceof ConnectionFailure && cause.reason === 'aborted'
    const message = timedOut ? `${url} did not answer within ${timeoutMs} ms` : cause.message
    link.failed(message)
    const refused = cause.kind === 'oauth'
    return new RpcError(
      'identity_unavailable',
      refused ? `the identity service refused this node: ${message}` : message,
      { cause },
    )
  }

  return {
    async get(audience = '') {
      const known = tokens.get(audience)
      const left = known ? known.endsAt - clock.elapsed() : 0
      if (known && left > margin) return known.token
      let fetching = running.get(audience)
      if (!fetching) {
        const mine = fetchToken(audience).finally(() => {
          if (running.get(audience) === mine) running.delete(audience)
        })
        running.set(audience, mine)
        fetching = mine
      }
      try {
        return await fetching
      } catch (cause) {
        const error = explain(cause)
        if (known && left > 0 && tokens.get(audience) === known) return known.token
        throw error
      }
    },
    async report() {
      await fetchToken('').catch((cause: unknown) => {
        throw explain(cause)
      })
    },
    forget() {
      tokens.clear()
      running.clear()
    },
    onAccountRemoved(listener) {
      accountRemoved = listener
    },
  }
}
