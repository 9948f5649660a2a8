/** Who sees the location of this node: stored first, and stated to the discovery service then. */
import { longestTrack } from '@selvedge/protocol'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { beforeEach, expect, it } from 'vitest'
import { createLocationSharing } from './sharing.ts'

const clock = createFakeClock()
const later = (milliseconds: number) => new Date(clock.now() + milliseconds).toISOString()
let value: { sharing: Record<string, string>; trackUntil: number; other: number }
let isAccepted: boolean
let stated: object[]
beforeEach(() => {
  value = { sharing: { account: 'exact', proximity: 'none' }, trackUntil: 0, other: 1 }
  isAccepted = true
  stated = []
})

const state = {
  get value() {
    return value
  },
  async update(change: (before: typeof value) => typeof value) {
    value = change(value)
  },
}
const sharing = createLocationSharing(state as never, clock, async () => {
  stated.push(value)
  return isAccepted
})

it('the precision of one audience changes', async () => {
  expect(await sharing.set('proximity' as never, '1km')).toEqual({
    account: 'exact',
    proximity: '1km',
    status: 'ok',
  })
  expect(value).toEqual({ sharing: { account: 'exact', proximity: '1km' }, trackUntil: 0, other: 1 })
  expect(stated).toEqual([value])
  isAccepted = false
  expect(await sharing.set('account' as never, 'none')).toMatchObject({ account: 'none', status: 'queued' })
})

it('a track is stored until a time of at most the longest track, or not at all', async () => {
  for (const until of [later(0), later(-1), later(longestTrack + 1)])
    await expect(sharing.setTrack(until)).rejects.toMatchObject({ reason: 'invalid_params' })
  expect([value.trackUntil, stated]).toEqual([0, []])
  for (const ahead of [1, longestTrack]) {
    expect(await sharing.setTrack(later(ahead))).toEqual({ until: later(ahead), status: 'ok' })
    expect(value).toMatchObject({ trackUntil: clock.now() + ahead, other: 1 })
  }
  expect(sharing.get()).toEqual({ account: 'exact', proximity: 'none', trackUntil: later(longestTrack) })
  expect(await sharing.setTrack('')).toEqual({ until: null, status: 'ok' })
  value.trackUntil = clock.now()
  expect(sharing.get()).toMatchObject({ trackUntil: null })
})
