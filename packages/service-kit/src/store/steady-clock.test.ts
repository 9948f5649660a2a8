/** A wrong hour costs nothing that was stored, also if the service is restarted in it. */
import { expect, it, vi } from 'vitest'
import type { SqlStore } from './sql.ts'
import { openSteadyClock } from './steady-clock.ts'

const year = 365 * 86_400_000
const start = 50 * year

function setup() {
  let value: number | undefined
  let shown = start
  let monotonic = 0
  let isFull = false
  const written: number[] = []
  const store = {
    async run({ sql, values }: { sql: string; values: readonly number[] }) {
      if (sql.startsWith('INSERT')) {
        if (isFull) throw new Error('the disk is full')
        value = values[0]
        written.push(value!)
      }
      return value === undefined ? [] : [{ value }]
    },
  } as unknown as SqlStore
  return {
    open: () => openSteadyClock(store, { now: () => shown }, () => monotonic),
    written,
    fill() {
      isFull = true
    },
    show(time: number) {
      shown = time
    },
    pass(milliseconds: number) {
      shown += milliseconds
      monotonic += milliseconds
    },
  }
}

it('stays where it is while the clock jumps, in a process and over a restart', async () => {
  const { open, show, pass } = setup()
  let clock = await open()
  pass(1000)
  for (const by of [10 * year, -10 * year]) {
    show(start + 1000 + by)
    expect(clock.steady()).toBe(start + 1000)
    await clock.stop()
    clock = await open()
    expect(clock.steady()).toBe(start + 1000)
  }
  expect(clock.past()).toBe(start + 1000 - 10 * year)
  await clock.stop()
})

it('catches up a day after a long stop', async () => {
  const { open, show, pass } = setup()
  await (await open()).stop()
  show(start + year)
  const clock = await open()
  expect(clock.past()).toBe(start)
  pass(86_400_000)
  expect(clock.past()).toBe(start + year + 86_400_000)
  await clock.stop()
})

it('is written once an hour and when it stops, and follows a jump from the minute in which it came', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const { open, pass, show, written } = setup()
    const clock = await open()
    const minutes = (count: number) => {
      for (let at = 0; at < count; at++) {
        pass(60_000)
        vi.advanceTimersByTime(60_000)
      }
    }
    minutes(59)
    expect(written).toEqual([start])
    minutes(1)
    expect(written).toEqual([start, start + 3_600_000])
    show(start + year)
    minutes(1)
    pass(86_400_000)
    expect(clock.now()).toBe(start + year + 86_460_000)
    expect(clock.steady()).toBe(start + year + 86_460_000)
    await clock.stop()
    expect(written.slice(2)).toEqual([start + year + 86_460_000])
    minutes(120)
    expect(written).toHaveLength(3)
  } finally {
    vi.useRealTimers()
  }
})

it('stops although its store fails', async () => {
  const { open, fill } = setup()
  const clock = await open()
  fill()
  await expect(clock.stop()).resolves.toBeUndefined()
})
