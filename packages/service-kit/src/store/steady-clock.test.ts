/** A wrong hour costs nothing that was stored, also if the service is restarted in it. */
import { expect, it } from 'vitest'
import type { SqlStore } from './sql.ts'
import { openSteadyClock } from './steady-clock.ts'

const year = 365 * 86_400_000
const start = 50 * year

function setup() {
  let value: number | undefined
  let shown = start
  let monotonic = 0
  const store = {
    async run({ sql, values }: { sql: string; values: readonly number[] }) {
      if (sql.startsWith('INSERT')) value = values[0]
      return value === undefined ? [] : [{ value }]
    },
  } as unknown as SqlStore
  return {
    open: () => openSteadyClock(store, { now: () => shown }, () => monotonic),
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
