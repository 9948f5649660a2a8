import { type Reason, RpcError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { downRefusal } from './down-refusal.ts'

const refusal = (reason: Reason, isStopped: boolean) =>
  downRefusal(new RpcError(reason, 'the last lines of its log'), { isStopped: () => isStopped })

it.each<Reason>(['container_failed', 'engine_unavailable', 'storage_full'])(
  'a service that cannot start (%s) is down: a client may try again, and learns nothing else',
  (reason) => {
    expect(refusal(reason, false)).toEqual({
      status: 503,
      reason: 'container_failed',
      message: 'the service is down',
      hint: expect.stringContaining('selvedge why'),
      headers: { 'Retry-After': '1' },
    })
  },
)

it('a service that its owner stopped is "stopped": a retry would not help', () => {
  expect(refusal('container_failed', true)).toEqual({
    status: 503,
    reason: 'stopped',
    message: 'the service is stopped',
    hint: expect.stringContaining('selvedge container start'),
  })
})

it('other failures do not mean that the service is down', () => {
  expect(refusal('busy', true)).toBeUndefined()
  expect(refusal('token_expired', false)).toBeUndefined()
  expect(downRefusal(new Error('container_failed'), undefined)).toBeUndefined()
})

it('a failure before the service was found is not that of a stopped one', () => {
  expect(downRefusal(new RpcError('container_failed', 'x'), undefined)).toMatchObject({
    reason: 'container_failed',
  })
})
