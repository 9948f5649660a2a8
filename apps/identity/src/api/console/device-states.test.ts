import { identityReportSeconds, onlineWindowMs } from '@selvedge/protocol'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { createDeviceStates } from './device-states.ts'

const seen = (lastSeenAt: number, blockedAt: number | null = null) => ({ lastSeenAt, blockedAt })

it.each([60, 600, 3600])(
  'with edge ID tokens of %d s, a device is online exactly for the window of the protocol',
  (lifetime) => {
    const reportSeconds = identityReportSeconds(lifetime)
    const states = createDeviceStates(createFakeClock(), reportSeconds)
    const now = states.now()
    const edge = now - onlineWindowMs(reportSeconds)
    expect(states.onlineMs).toBe(onlineWindowMs(reportSeconds))
    expect([states.stateOf(seen(edge), now), states.stateOf(seen(edge - 1), now)]).toEqual(['online', 'away'])
  },
)

it('a blocked device is blocked, however recently it was seen', () => {
  const states = createDeviceStates(createFakeClock(), 600)
  expect(states.stateOf(seen(states.now(), 0), states.now())).toBe('blocked')
  expect(states.onlineUntil({ lastSeenAt: states.now(), isBlocked: true })).toBe(-1)
})

it('a page, a filter and the map agree in each millisecond around the end of the window', () => {
  const window = onlineWindowMs(600)
  for (const offset of [0, 1, 499, 500, 999]) {
    for (let late = -1500; late <= 1500; late++) {
      const lastSeenAt = 1_700_000_000_000 + offset
      const states = createDeviceStates({ now: () => lastSeenAt + window + late }, 600)
      const at = states.now()
      const isOnline = states.stateOf(seen(lastSeenAt), at) === 'online'
      const isSelected = lastSeenAt >= states.onlineSince(at)
      const isOnlineOnMap = at / 1000 <= states.onlineUntil({ lastSeenAt, isBlocked: false })
      expect([isSelected, isOnlineOnMap], `${late} ms late`).toEqual([isOnline, isOnline])
    }
  }
})

it('the present moment is the last whole second', () => {
  expect(createDeviceStates({ now: () => 1999 }, 600).now()).toBe(1000)
})
