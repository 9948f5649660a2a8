/** A channel that has the whole state: the newest one counts, and each reader learns how many it missed. */
import { expect, it } from 'vitest'
import { createStateChannel } from './state-channel.ts'

it('gives the newest state once to each reader', () => {
  let state: object = { a: 1 }
  let closes = 0
  const channel = createStateChannel(
    'clock',
    () => state,
    () => closes++,
  )
  const first = { topic: 'clock', number: 1, data: '{"a":1}' }
  expect(channel.next(undefined)).toEqual({ event: first, lost: 0 })
  expect(channel.next(1)).toBeUndefined()
  channel.refresh!()
  expect(channel.next(1)).toBeUndefined()
  for (const a of [2, 3]) {
    state = { a }
    channel.refresh!()
  }
  expect(channel.next(1)).toEqual({ event: { topic: 'clock', number: 3, data: '{"a":3}' }, lost: 1 })
  expect(channel.next(2)?.lost).toBe(0)
  expect(channel.next(undefined)?.lost).toBe(0)
  channel.close()
  expect(closes).toBe(1)
  expect(createStateChannel('clock', () => 1).close()).toBeUndefined()
})
