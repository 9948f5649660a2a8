import { systemClock } from '@selvedge/service-kit/clock'
import { expect, it } from 'vitest'
import { fixesEndpoint } from './fixes.ts'

const now = systemClock.now()
const day = 86_400_000

/** The endpoint for a node with a track that ends in a minute, with a clock that may be ahead. */
function createEndpoint({ ahead = 0, hasLeft = false } = {}) {
  const disk = { isFull: false, track: [] as number[] }
  let newest = -1
  const parts = {
    clock: { now: () => now + ahead, past: () => now },
    sessions: {
      nodeOf: () => ({ nodeId: 'node', nodeName: '', accountId: 'account', trackUntil: now + 60_000 }),
    },
    registry: { heard: () => undefined },
    store: {
      last: async () => [newest < 0 ? undefined : { fixedAt: newest }],
      put: async ([{ fixedAt }]: [{ fixedAt: number }]) => {
        const before = newest
        newest = Math.max(newest, fixedAt)
        return [hasLeft ? 'left' : before]
      },
    },
    tracks: {
      add: async (_: string, points: readonly { fixedAt: number }[]) => {
        if (disk.isFull) throw new Error('the disk is full')
        disk.track.push(...points.map(({ fixedAt }) => fixedAt))
      },
    },
  }
  const endpoint = fixesEndpoint(parts as never)
  const report = (...times: number[]) => {
    const fixes = times.map((fixedAt) => ({ longitude: 1, latitude: 2, speed: 0, bearing: 0, fixedAt }))
    return endpoint.answer({ authorization: '', body: JSON.stringify(fixes) } as never)
  }
  return { disk, report }
}

it('stores a fix in the track when its report is sent again after the track could not be written', async () => {
  const { disk, report } = createEndpoint()
  disk.isFull = true
  await expect(report(now)).rejects.toThrow('full')
  disk.isFull = false
  expect(await report(now)).toEqual({ accepted: 1, newest: now })
  expect(await report(now)).toEqual({ accepted: 0, newest: now })
  expect(disk.track).toEqual([now])
})

it('stores the fixes from before the end of a track while the clock is ahead, and none from after it', async () => {
  const { disk, report } = createEndpoint({ ahead: day })
  await report(now, now + 59_000, now + 61_000)
  expect(disk.track).toEqual([now, now + 59_000])
})

it('accepts fixes up to a minute ahead of the clock, and refuses a report with a later one', async () => {
  const { report, disk } = createEndpoint()
  expect(await report(now + 60_000)).toEqual({ accepted: 1, newest: now + 60_000 })
  await expect(report(now, now + 60_001)).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(/^a fix of .* is in the future; it is .* here$/),
  })
  expect(disk.track).toEqual([])
})

it('refuses a report of a session from before the node left the account', async () => {
  const { report } = createEndpoint({ hasLeft: true })
  await expect(report(now)).rejects.toMatchObject({
    code: 'invalid_token',
    message: 'the session started before the node left the account; start a new session',
  })
})
