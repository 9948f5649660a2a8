/**
 * The clock of one daemon jumps forward and back while it works: each kind of operation meets jumps before, during and after it. What was
 * acknowledged is there, nothing revoked is valid, and all of it works again without a restart when the clock is right.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { createProgramClock, days, type ProgramClock, years } from '../../harness/program-clock.ts'
import { startServices } from '../../harness/services.ts'
import { discoverySubject } from './subjects/discovery.ts'
import { identitySubject } from './subjects/identity.ts'
import { runtimeSubject } from './subjects/runtime.ts'
import type { Step } from './subjects/subject.ts'

const shifts = [days(1), -days(1), years(10), -years(10), 0]
const passes = 10
/** Milliseconds between two jumps: several of them in most operations. */
const pause = 20

const ending: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end()
})

const daemons = {
  runtime: runtimeSubject,
  identity: ({ stack }: Awaited<ReturnType<typeof startServices>>) => identitySubject(stack, {}),
  discovery: ({ stack }: Awaited<ReturnType<typeof startServices>>) => discoverySubject(stack, {}),
}

/** Sets the clock until the work is done, and right then. The work gets the number of jumps so far. */
async function jumpDuring(
  clock: ProgramClock,
  work: (jumps: () => number) => Promise<unknown>,
): Promise<void> {
  let isOver = false
  let jumped = 0
  const jumping = (async () => {
    while (!isOver) {
      await clock.set(shifts[jumped++ % shifts.length]!)
      await sleep(pause)
    }
  })()
  try {
    await work(() => jumped)
  } finally {
    isOver = true
    await jumping
    await clock.set(0)
  }
}

it.each(Object.keys(daemons) as (keyof typeof daemons)[])(
  'the %s loses nothing acknowledged while its clock jumps, and works when it is right again',
  async (name) => {
    const clock = await createProgramClock()
    ending.push(clock.remove)
    // A device shows an edge ID token that was issued at a wrong time until a minute before its life is over: its time passes then.
    const identity = ['--lifetime.edge=70']
    const device = name === 'runtime' ? clock : await createProgramClock()
    if (device !== clock) ending.push(device.remove)
    const services = await startServices({ identity, envOf: { runtime: device.env, [name]: clock.env } })
    ending.push(services.stop)
    const subject = await daemons[name](services)
    const steps: Step[] = []
    let pass = 1
    await jumpDuring(clock, async (jumps) => {
      // A quick machine works for longer, until the clock had each shift twice.
      for (; pass <= passes || jumps() < 2 * shifts.length; pass++) steps.push(...(await subject.work(pass)))
    })
    const refusals = steps.flatMap(({ what, refused }) =>
      refused === undefined ? [] : `${what}: ${refused}`,
    )
    console.info(`${name}: ${steps.length} operations in ${pass - 1} passes, refused:`, refusals)
    expect(refusals.filter((each) => /internal_error|server_error/.test(each))).toEqual([])
    await expect
      .poll(async () => {
        if (device !== clock) await device.pass(5000)
        return (await subject.work(pass)).filter(({ refused }) => refused !== undefined)
      })
      .toEqual([])
    expect(await subject.missing()).toEqual([])
    expect(subject.isRunning()).toBe(true)
  },
)
