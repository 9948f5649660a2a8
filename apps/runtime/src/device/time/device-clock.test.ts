import { clockJump } from '@selvedge/service-kit/clock'
import { describe, expect, it } from 'vitest'
import { createDeviceClock, type DeviceClock } from './device-clock.ts'

const y2026 = Date.parse('2026-06-01T00:00:00Z')
const hour = 3_600_000
const day = 24 * hour
const year = 365 * day

function make(floor: number, start: number) {
  let system = start
  let monotonic = 1000
  let uptime = 5000
  const clock = createDeviceClock(floor, {
    system: () => system,
    monotonic: () => monotonic,
    uptime: () => uptime,
  })
  return {
    clock,
    pass(milliseconds: number) {
      system += milliseconds
      monotonic += milliseconds
      uptime += milliseconds
    },
    sleep(milliseconds: number) {
      system += milliseconds
      uptime += milliseconds
    },
    setSystem(time: number) {
      system = time
    },
    /** Counts of the system since its start that no other clock has. */
    drift(milliseconds: number) {
      uptime += milliseconds
    },
    shift(milliseconds: number) {
      system += milliseconds
    },
  }
}

/** @param took milliseconds from the question to the answer, which comes now */
function learn(clock: DeviceClock, time: number, took = 0): void {
  const answeredAt = clock.monotonic()
  clock.learn(time, { sentAt: answeredAt - took, answeredAt })
}

describe('the clock of a device', () => {
  it('that shows a plausible time is held', () => {
    const { clock, pass } = make(y2026, y2026 + 5)
    pass(10)
    expect([clock.state(), clock.now()]).toEqual(['held', y2026 + 15])
  })

  it('that woke up in 1970 is unknown, and continues from the latest accepted time', () => {
    const { clock, pass } = make(y2026, 0)
    expect([clock.state(), clock.now()]).toEqual(['unknown', y2026])
    pass(60_000)
    expect(clock.now()).toBe(y2026 + 60_000)
  })

  it('is corrected by the identity service, and trusted from then on', () => {
    const { clock, pass } = make(0, 0)
    pass(500)
    learn(clock, y2026, 200)
    expect([clock.state(), clock.now()]).toEqual(['trusted', y2026 + 100])
    pass(hour)
    expect([clock.state(), clock.now()]).toEqual(['trusted', y2026 + hour + 100])
  })

  it('is not corrected for the jitter of the network', () => {
    const { clock } = make(0, y2026)
    learn(clock, y2026 + 1500)
    expect(clock.now()).toBe(y2026)
  })

  it('does not follow a system clock that is behind', () => {
    const { clock, pass, setSystem } = make(y2026, y2026)
    let last = clock.now()
    for (const back of [1000, day, 5000, 10 * year, y2026]) {
      setSystem(y2026 - back)
      pass(7)
      expect(clock.now()).toBeGreaterThanOrEqual(last)
      last = clock.now()
    }
  })

  it('that was set while it was trusted shows the same time as before', () => {
    const { clock, pass, shift } = make(0, y2026)
    learn(clock, y2026)
    for (const by of [day, -day, 10 * year, -10 * year, -10 * year, hour]) {
      shift(by)
      const before = clock.now()
      pass(1000)
      expect([clock.state(), clock.now() - before]).toEqual(['trusted', 1000])
    }
  })

  it('advances while the device sleeps, trusted or not', () => {
    for (const isTrusted of [true, false]) {
      const { clock, sleep } = make(y2026, y2026)
      if (isTrusted) learn(clock, y2026)
      const before = clock.elapsed()
      sleep(5 * hour)
      expect([clock.now(), clock.elapsed() - before]).toEqual([y2026 + 5 * hour, 5 * hour])
    }
  })

  it.each([
    ['a day', day],
    ['ten years', 10 * year],
  ])('that jumped %s ahead for a moment comes back with the system’s clock', (_, by) => {
    const { clock, pass, shift } = make(y2026, y2026)
    pass(2 * hour)
    clock.now()
    shift(by)
    expect(clock.now()).toBe(y2026 + 2 * hour + by)
    pass(60_000)
    clock.now()
    shift(-by)
    pass(1000)
    expect([clock.state(), clock.now()]).toEqual(['held', y2026 + 2 * hour + 61_000])
  })

  it('that was wrong from the start until the network set it right follows that', () => {
    const { clock, pass, setSystem } = make(y2026 - day, y2026 + 10 * year)
    expect(clock.now()).toBe(y2026 + 10 * year)
    pass(20_000)
    setSystem(y2026)
    expect([clock.state(), clock.now()]).toEqual(['held', y2026])
  })

  it('that shows the same for an hour is believed, and a later step back is not', () => {
    const { clock, pass, setSystem } = make(0, y2026)
    for (let minutes = 0; minutes <= 61; minutes++) {
      clock.now()
      pass(60_000)
    }
    const before = clock.now()
    setSystem(y2026 - day)
    expect([clock.state(), clock.now()]).toEqual(['unknown', before])
  })

  it('with a latest time from a wrong source is corrected only by the identity service', () => {
    const { clock, pass } = make(y2026 + 10 * year, y2026)
    expect([clock.state(), clock.now()]).toEqual(['unknown', y2026 + 10 * year])
    learn(clock, y2026)
    pass(1)
    expect([clock.state(), clock.now()]).toEqual(['trusted', y2026 + 1])
  })

  it('counts no sleep for what the clocks of the system differ by otherwise', () => {
    const { clock, pass, drift, sleep } = make(y2026, y2026)
    pass(10_000)
    drift(400)
    expect(clock.elapsed()).toBe(11_000)
    sleep(clockJump)
    expect(clock.elapsed()).toBe(11_000)
    sleep(1)
    expect(clock.elapsed()).toBe(11_000 + clockJump + 401)
  })

  it('does not count a sleep before the answer of the identity service', () => {
    const { clock, pass, sleep } = make(0, y2026)
    sleep(5 * hour)
    learn(clock, y2026)
    pass(1)
    expect(clock.now()).toBe(y2026 + 1)
  })

  it('counts the time since the answer came', () => {
    const { clock, pass } = make(0, 0)
    const answeredAt = clock.monotonic()
    pass(300)
    clock.learn(y2026, { sentAt: answeredAt - 100, answeredAt })
    expect(clock.now()).toBe(y2026 + 350)
  })

  it('may differ by two seconds', () => {
    expect(make(y2026 + 2000, y2026).clock.state()).toBe('held')
    expect(make(y2026 + 2001, y2026).clock.state()).toBe('unknown')
    const { clock } = make(0, y2026)
    learn(clock, y2026 + 2000)
    expect(clock.now()).toBe(y2026)
  })

  it('is that of the system', () => {
    const clock = createDeviceClock(0)
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(hour)
    expect([clock.monotonic(), clock.elapsed()]).toEqual([expect.any(Number), expect.any(Number)])
  })
})
