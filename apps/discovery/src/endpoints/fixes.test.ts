import { systemClock } from '@selvedge/service-kit/clock'
import { expect, it } from 'vitest'
import { fixesEndpoint } from './fixes.ts'

it('stores a fix in the track when its report is sent again after the track could not be written', async () => {
  const stored: number[] = []
  let isFull = true
  let newest = -1
  const now = systemClock.now()
  const parts = {
    clock: { now: systemClock.now, past: systemClock.now },
    sessions: {
      nodeOf: () => ({ nodeId: 'node', nodeName: '', accountId: 'account', trackUntil: now + 60_000 }),
    },
    registry: { heard: () => undefined },
    store: {
      last: async () => [newest < 0 ? undefined : { fixedAt: newest }],
      put: async ([{ fixedAt }]: [{ fixedAt: number }]) => {
        const before = newest
        newest = Math.max(newest, fixedAt)
        return [before]
      },
    },
    tracks: {
      add: async (_: string, points: readonly { fixedAt: number }[]) => {
        if (isFull) throw new Error('the disk is full')
        stored.push(...points.map(({ fixedAt }) => fixedAt))
      },
    },
  }
  const endpoint = fixesEndpoint(parts as never)
  const fix = { longitude: 1, latitude: 2, speed: 0, bearing: 0, fixedAt: now }
  const report = () => endpoint.answer({ authorization: '', body: JSON.stringify([fix]) } as never)
  await expect(report()).rejects.toThrow('full')
  isFull = false
  expect(await report()).toEqual({ accepted: 1, newest: now })
  expect(await report()).toEqual({ accepted: 0, newest: now })
  expect(stored.filter((each) => each === now).length).toBeGreaterThan(0)
})
