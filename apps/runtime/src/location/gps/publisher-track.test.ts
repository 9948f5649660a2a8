import { maxFixes } from '@selvedge/protocol'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { describe, expect, it } from 'vitest'
import { createNotices } from '../../device/node/notices.ts'
import type { StoredFix } from '../../device/state.ts'
import { createTrack, isReplacedUnsent } from './publisher-track.ts'

const fixAt = (fixedAt: number) => ({ fixedAt }) as StoredFix
const never = Number.NEGATIVE_INFINITY

describe('a fix is replaced before it was sent', () => {
  it.each<[string, StoredFix | null, StoredFix | null, number, boolean]>([
    ['if a later one comes', fixAt(1), fixAt(2), never, true],
    ['if it is removed', fixAt(1), null, 0, true],
    ['not if the service accepted it', fixAt(1), fixAt(2), 1, false],
    ['not if the service accepted a later one', fixAt(1), fixAt(3), 2, false],
    ['not if it is still the newest', fixAt(1), fixAt(1), never, false],
    ['not if there is no fix', null, fixAt(1), never, false],
  ])('%s', (_, before, newest, acceptedUpTo, expected) => {
    expect(isReplacedUnsent(before, newest, acceptedUpTo)).toBe(expected)
  })
})

describe('a track', () => {
  const open = () => {
    const log = createMemoryLog()
    const notices = createNotices(createFakeClock(), log)
    const track = createTrack(notices)
    return {
      log,
      track,
      note: (fixedAt: number, isRecorded = true, acceptedUpTo = never) =>
        track.note(fixAt(fixedAt), isRecorded, acceptedUpTo),
      taken: () => track.take().map(({ fixedAt }) => fixedAt),
      raised: () => notices.list().map(({ reason }) => reason),
    }
  }

  it('contains what was replaced before it was sent, in order, and gives it once', () => {
    const { note, taken } = open()
    for (const each of [1, 2, 3]) note(each)
    expect([taken(), taken()]).toEqual([[1, 2], []])
  })

  it('that is not recorded contains nothing', () => {
    const { note, taken } = open()
    note(1)
    note(2, false)
    note(3)
    expect(taken()).toEqual([2])
  })

  it('stores what could not be sent again before what came since', () => {
    const { track, note, taken } = open()
    for (const each of [1, 2, 3]) note(each)
    const earlier = track.take()
    note(4)
    track.putBack(earlier)
    expect(taken()).toEqual([1, 2, 3])
  })

  it('stores one fix less than fits in a report, drops the oldest, and raises a notice until all are sent', () => {
    const { log, track, note, taken, raised } = open()
    for (let at = 0; at < maxFixes; at++) note(at)
    expect(raised()).toEqual([])
    note(maxFixes)
    expect(raised()).toEqual(['fixes_dropped'])
    expect(log.lines.join()).toContain(`"dropped":1,"kept":${maxFixes - 1}`)
    track.sent()
    expect(raised()).toEqual(['fixes_dropped'])
    expect(taken()).toEqual(Array.from({ length: maxFixes - 1 }, (_, at) => at + 1))
    track.sent()
    expect(raised()).toEqual([])
  })

  it('of a former account is dropped', () => {
    const { track, note, taken, raised } = open()
    for (let at = 0; at <= maxFixes; at++) note(at)
    track.clear()
    note(maxFixes + 1)
    expect([taken(), raised()]).toEqual([[], []])
  })
})
