import { RpcFailure } from '@selvedge/client'
import { RpcError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { describeFailure } from './failure.ts'

it('a failure inside a service is shown with the ID under which its log has the cause', () => {
  const failure = new RpcFailure(new RpcError('internal_error', 'it failed').toObject('0f8a'))
  expect(describeFailure(failure)).toEqual({
    code: 1,
    message: 'it failed (internal_error, error ID 0f8a)',
    hint: 'Search the log of the service for the error ID.',
  })
})

it('a refusal is shown without one', () => {
  const refused = new RpcFailure(new RpcError('not_found', 'there is no image').toObject())
  expect(describeFailure(refused).message).toBe('there is no image (not_found)')
})
