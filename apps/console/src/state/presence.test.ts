import type { Device } from '@selvedge/protocol/console'
import { describe, expect, it } from 'vitest'
import { stateAt, withNews } from './presence.ts'

const at = (ms: number) => new Date(ms).toISOString()
const now = 1e12
const deviceWith = (more: Partial<Device>) => ({ nodeId: 'a', lastSeenAt: at(now), ...more }) as Device
const newsOf = (fixedMs: number) => ({
  fixes: [{ nodeId: 'a', longitude: 1, latitude: 2, speed: 0, bearing: 0, fixedAt: at(fixedMs) }],
})

describe('a device on the map', () => {
  it('is online until the second that the service named, and away afterwards', () => {
    expect(stateAt(now / 1000, now + 999)).toBe('online')
    expect(stateAt(now / 1000, now + 1000)).toBe('away')
  })

  it('is blocked at any time', () => {
    expect(stateAt(-1, now)).toBe('blocked')
  })
})

it.each(['online', 'away', 'blocked'] as const)(
  'a location moves a device that is %s, and changes no state',
  (state) => {
    expect(withNews(deviceWith({ state }), newsOf(now + 1000))).toMatchObject({
      ...{ state, lastSeenAt: at(now) },
      fix: { longitude: 1, latitude: 2 },
    })
  },
)

it('what the service states of a device is shown as it is', () => {
  const news = { device: { ...deviceWith({}), state: 'away', lastSeenAt: at(now - 1) } as Device }
  expect(withNews(deviceWith({ state: 'online' }), news)).toMatchObject({
    state: 'away',
    lastSeenAt: at(now - 1),
  })
  expect(withNews(deviceWith({ nodeId: 'b', state: 'online' }), news).state).toBe('online')
})
