import { describe, expect, it } from 'vitest'
import { createDeviceClock } from './device-clock.ts'

const y2026 = Date.parse('2026-06-01T00:00:00Z')

function make(floor: number, start: number) {
  let system = start
  let monotonic = 1000
  const clock = createDeviceClock(floor, { system: () => system, monotonic: () => monotonic })
  return {
    clock,
    pass(milliseconds: number) {
      system += milliseconds
      monotonic += milliseconds
    },
    setSystem(time: number) {
      system = time
    },
  }
}

describe('the clock of a device', () => {
  it('that shows a plausible time is held', () => {
    const { clock, pass } = make(y2026, y2026 + 5)
    pass(10)
    expect([clock.state(), clock.now()]).toEqual(['held', y2026 + 15])
  })

  it('that woke up in 1970 is unknown, and goes on from the latest time that was believed', () => {
    const { clock, pass } = make(y2026, 0)
    expect([clock.state(), clock.now()]).toEqual(['unknown', y2026])
    pass(60_000)
    expect(clock.now()).toBe(y2026 + 60_000)
  })

  it('is corrected by the identity service, and trusted from then on', () => {
    const { clock, pass } = make(0, 0)
    pass(500)
    clock.learn(y2026, clock.monotonic() - 200)
    expect([clock.state(), clock.now()]).toEqual(['trusted', y2026 + 100])
    pass(3_600_000)
    expect([clock.state(), clock.now()]).toEqual(['trusted', y2026 + 3_600_100])
  })

  it('is not corrected for the jitter of the network', () => {
    const { clock } = make(0, y2026)
    clock.learn(y2026 + 1500, clock.monotonic())
    expect(clock.now()).toBe(y2026)
  })

  it('never goes back, whatever the system’s clock does', () => {
    const { clock, pass, setSystem } = make(0, y2026)
    let last = clock.now()
    for (const jump of [-1000, 5000, -86_400_000, 10, -y2026, 3_600_000]) {
      setSystem(y2026 + jump)
      pass(7)
      expect(clock.now()).toBeGreaterThanOrEqual(last)
      last = clock.now()
    }
  })

  it('is not trusted any more when the system’s clock was set', () => {
    const { clock, pass, setSystem } = make(0, y2026)
    clock.learn(y2026, clock.monotonic())
    pass(1000)
    setSystem(y2026 + 3_600_000)
    pass(1)
    expect(clock.state()).toBe('held')
  })

  it('that was years ahead comes back when the identity service says so', () => {
    const { clock, pass } = make(y2026 + 3e11, y2026 + 3e11)
    pass(1)
    clock.learn(y2026, clock.monotonic())
    pass(1)
    expect([clock.state(), clock.now()]).toEqual(['trusted', y2026 + 1])
  })
})
