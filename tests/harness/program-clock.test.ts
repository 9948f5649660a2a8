/** The clock of whole programs: what of a program follows it, and when. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createProgramClock, days, type ProgramClock } from './program-clock.ts'

/** Answers each message with what its clocks show; starts the timers that the message names, and reports when they fire. */
const source = `
const { setTimeout: sleep } = require('node:timers/promises')
const begun = performance.now()
process.on('message', ({ wait, every, pause, renew, abort, cancel }) => {
  const report = (fired) => process.send({ fired })
  if (wait) setTimeout(() => report(wait), wait)
  if (every) setInterval(() => report(every), every)
  if (abort) AbortSignal.timeout(abort).onabort = ({ target }) => report(target.reason.name === 'TimeoutError' ? abort : -1)
  if (pause) sleep(pause).then(() => report(pause))
  if (cancel) {
    const stop = new AbortController()
    sleep(2 * cancel, undefined, { signal: stop.signal }).catch(() => report(cancel))
    setTimeout(() => stop.abort(), cancel)
    clearTimeout(setTimeout(() => report(0), cancel))
  }
  if (renew) {
    const timer = setTimeout(() => report(renew), renew)
    process.on('message', () => timer.refresh())
  }
  process.send({ now: Date.now(), date: new Date().getTime(), steady: performance.now() - begun })
})
process.send('ready')
`
interface Shown {
  readonly now: number
  readonly date: number
  readonly steady: number
}

let clock: ProgramClock
let program: ChildProcess
let fired: number[]
beforeEach(async () => {
  clock = await createProgramClock()
  program = spawn(process.execPath, ['--eval', source], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...clock.env },
  })
  fired = []
  program.on('message', (message: { fired?: number }) => {
    if (message.fired !== undefined) fired.push(message.fired)
  })
  await once(program, 'message')
})
afterEach(async () => {
  program.kill('SIGKILL')
  await clock.remove()
})

async function ask(message: object = { show: true }): Promise<Shown> {
  program.send(message)
  for (;;) {
    const [shown] = (await once(program, 'message')) as [Partial<Shown>]
    if (shown.now !== undefined) return shown as Shown
  }
}

describe('a clock that is set', () => {
  it('shows at the next look, and moves neither the monotonic clock nor a timer', async () => {
    await ask({ wait: 3_600_000 })
    await clock.set(days(3))
    const before = Date.now()
    const { now, date, steady } = await ask()
    expect(now - before).toBeGreaterThanOrEqual(days(3))
    expect(date).toBeGreaterThanOrEqual(now)
    expect(steady).toBeLessThan(days(1))
    await clock.advance(days(1))
    expect((await ask()).now - before).toBeGreaterThanOrEqual(days(4))
    expect(fired).toEqual([])
  })
})

describe('time that passes', () => {
  it('passes on both clocks', async () => {
    const before = Date.now()
    await clock.pass(days(2))
    const { now, steady } = await ask()
    expect([now - before >= days(2), steady >= days(2)]).toEqual([true, true])
  })

  it('fires what is due, in its order, and what is not due when the rest of its time has passed', async () => {
    await ask({ wait: 3_600_000 })
    await ask({ pause: 1_800_000 })
    await ask({ wait: 7_200_000 })
    await clock.pass(3_599_000)
    await ask()
    expect(fired).toEqual([1_800_000])
    await clock.pass(3_600_000)
    await ask()
    expect(fired).toEqual([1_800_000, 3_600_000])
    await clock.pass(1000)
    await ask()
    expect(fired).toEqual([1_800_000, 3_600_000, 7_200_000])
  })

  it('aborts what has a timeout', async () => {
    await ask({ abort: 3_600_000 })
    await clock.pass(3_599_000)
    expect(fired).toEqual([])
    await clock.pass(1000)
    await ask()
    expect(fired).toEqual([3_600_000])
  })

  it('repeats an interval', async () => {
    await ask({ every: 3_600_000 })
    for (let time = 0; time < 3; time++) await clock.pass(3_600_000)
    await ask()
    expect(fired).toEqual([3_600_000, 3_600_000, 3_600_000])
  })

  it('begins again for a timer that was refreshed', async () => {
    await ask({ renew: 3_600_000 })
    await clock.pass(1_800_000)
    await ask()
    await clock.pass(2_400_000)
    expect(fired).toEqual([])
    await clock.pass(1_200_000)
    await ask()
    expect(fired).toEqual([3_600_000])
  })

  it('calls off who waits when a signal is due, and fires nothing that was cleared', async () => {
    await ask({ cancel: 3_600_000 })
    await clock.pass(3_600_000)
    await ask()
    expect(fired).toEqual([3_600_000])
  })

  it('passes for a program that is stopped by a signal when it continues', async () => {
    await ask({ wait: 3_600_000 })
    program.kill('SIGSTOP')
    await expect.poll(() => readFileSync(`/proc/${program.pid}/stat`, 'utf8')).toMatch(/\) T /)
    await clock.pass(3_600_000)
    expect(fired).toEqual([])
    program.kill('SIGCONT')
    await expect.poll(() => fired).toEqual([3_600_000])
  })

  it('waits for no program that a signal stops only now', async () => {
    await ask({ wait: 3_600_000 })
    const passed = clock.pass(3_600_000)
    program.kill('SIGSTOP')
    await passed
    program.kill('SIGCONT')
    await expect.poll(() => fired).toEqual([3_600_000])
  })

  it('has passed for a program that starts later, and does not wait for one that exited', async () => {
    program.kill('SIGKILL')
    await once(program, 'exit')
    await clock.pass(days(1))
    program = spawn(process.execPath, ['--eval', source], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, ...clock.env },
    })
    await once(program, 'message')
    const { now, steady } = await ask()
    expect(now).toBeGreaterThanOrEqual(Date.now() + days(1) - 60_000)
    expect(steady).toBeLessThan(days(1))
  })
})
