import { type Device, identityCheckSeconds, onlineWindowMs } from '@selvedge/protocol/console'
import { describe, expect, it } from 'vitest'
import { presenceOf, withNews } from './presence.ts'

const now = 1e12
const windowMs = onlineWindowMs(identityCheckSeconds)
const at = (ms: number) => new Date(ms).toISOString()
const deviceWith = (more: Partial<Device>) => ({ nodeId: 'a', lastSeenAt: at(now), ...more }) as Device
const newsOf = (fixedMs: number) => ({
  fixes: [{ nodeId: 'a', longitude: 1, latitude: 2, speed: 0, bearing: 0, fixedAt: at(fixedMs) }],
})

describe('a device on the map', () => {
  it('is online until the end of the window of the protocol', () => {
    expect(presenceOf(now - windowMs, now)).toBe('online')
    expect(presenceOf(now - windowMs - 1, now)).toBe('away')
  })
})

describe('a device that was away', () => {
  const away = deviceWith({ state: 'away', lastSeenAt: at(now - 2 * windowMs) })

  it('is online after a fix within the window', () => {
    const fixedMs = now - windowMs
    expect(withNews(away, newsOf(fixedMs), now)).toMatchObject({ state: 'online', lastSeenAt: at(fixedMs) })
  })

  it('stays away after a fix that arrived too late', () => {
    expect(withNews(away, newsOf(now - windowMs - 1), now)).toMatchObject({
      state: 'away',
      fix: { longitude: 1 },
    })
  })
})

describe('a fix that arrives late', () => {
  it('does not move "last seen" back', () => {
    const online = deviceWith({ state: 'online' })
    expect(withNews(online, newsOf(now - 1000), now)).toMatchObject({ state: 'online', lastSeenAt: at(now) })
  })

  it('does not unblock a device', () => {
    expect(withNews(deviceWith({ state: 'blocked' }), newsOf(now), now).state).toBe('blocked')
  })
})
