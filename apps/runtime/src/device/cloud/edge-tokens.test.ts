/** Requests for edge ID tokens that need long: who waits for them, and for how long. */
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { initialState } from '../state.ts'
import { requestLimitMs, waitLimitMs } from '../time-limits.ts'
import { createEdgeTokens } from './edge-tokens.ts'
import { createLink } from './link.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Tokens of a service that answers as the test decides. */
function open() {
  const requests: PromiseWithResolvers<object>[] = []
  const time = createFakeClock()
  const clock = { ...time, monotonic: () => 0, elapsed: () => 0 }
  const link = createLink(time)
  const tokens = createEdgeTokens({
    ...{ nodeId: 'n', issuer: {}, url: 'https://identity.example', name: 'n', enrolmentCode: '' },
    ...{ key: { signing: {}, agreement: {} }, state: { value: { ...initialState, accountId: 'a' } } },
    learned: { learn: () => undefined, stop: async () => undefined },
    notices: { raise: () => undefined, clear: () => undefined, has: () => false },
    client: {
      edgeToken() {
        const request = Promise.withResolvers<object>()
        requests.push(request)
        return request.promise
      },
    },
    ...{ clock, link, log: createMemoryLog(), services: () => [], vitals: async () => undefined },
    withJoinKey: (request: unknown) => request,
  } as never)
  const answer = (at: number, id_token: string) =>
    requests[at]!.resolve({ id_token, expires_in: 600, account_id: 'a', hmac_key: null })
  return { tokens, requests, answer, reachable: () => link.status().reachable }
}

it('a local caller waits a few seconds; the request continues, and the next caller has its token at once', async () => {
  const { tokens, requests, answer, reachable } = open()
  const first = tokens.get().catch((cause: Error) => cause)
  await vi.advanceTimersByTimeAsync(waitLimitMs)
  expect(await first).toMatchObject({
    reason: 'identity_unavailable',
    message: `https://identity.example did not answer within ${waitLimitMs} ms`,
  })
  await expect(tokens.get()).rejects.toMatchObject({ reason: 'identity_unavailable' })
  expect([requests.length, reachable()]).toEqual([1, false])
  answer(0, 'token')
  await vi.advanceTimersByTimeAsync(0)
  expect([await tokens.get(), requests.length, reachable()]).toEqual(['token', 1, true])
})

it('work that no caller waits for gets a late token, of the same request', async () => {
  const { tokens, requests, answer } = open()
  const caller = tokens.get().catch((cause: Error) => cause)
  const background = tokens.get('', 'background')
  await vi.advanceTimersByTimeAsync(requestLimitMs - 1)
  expect(await caller).toMatchObject({ reason: 'identity_unavailable' })
  answer(0, 'token')
  expect([await background, requests.length]).toEqual(['token', 1])
})

it('a report that has no answer for a while shows the service as away, until it answers', async () => {
  const { tokens, answer, reachable } = open()
  const reported = tokens.report()
  await vi.advanceTimersByTimeAsync(waitLimitMs)
  expect(reachable()).toBe(false)
  answer(0, 'token')
  await reported
  expect(reachable()).toBe(true)
})
