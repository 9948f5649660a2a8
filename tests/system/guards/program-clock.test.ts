/** The clock that tests move: what a program sees of it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, expect, it } from 'vitest'
import { createProgramClock, days } from '../../harness/program-clock.ts'

const source = `
const { setTimeout: sleep } = require('node:timers/promises')
const say = (...words) => console.log(words.join(' '))
const started = { wall: Date.now(), steady: performance.now() }
say('ready')
process.on('SIGUSR2', () =>
  say('now', Math.round((Date.now() - started.wall) / 60_000), Math.round((performance.now() - started.steady) / 60_000)))
setTimeout(() => say('second'), 120_000)
setTimeout(() => say('first'), 60_000)
setTimeout(() => say('sixth'), 600_000)
clearTimeout(setTimeout(() => say('cleared'), 1000))
const late = setTimeout(() => say('refreshed'), 180_000)
setTimeout(() => late.refresh(), 150_000)
sleep(200_000).then(() => say('slept'))
let beats = 0
const beat = setInterval(() => { say('beat'); if (++beats === 2) clearInterval(beat) }, 1_000_000)
const stop = new AbortController()
sleep(5_000_000, undefined, { signal: stop.signal }).catch((cause) => say(cause.name))
setTimeout(() => stop.abort(), 4_000_000)
process.on('SIGTERM', () => process.exit())
`

const ending: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end()
})

async function start() {
  const clock = await createProgramClock()
  ending.push(clock.remove)
  const child = spawn(process.execPath, ['-e', source], {
    env: clock.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  ending.push(() => child.kill('SIGKILL'))
  const lines: string[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(line))
  await expect.poll(() => lines.splice(0)).toEqual(['ready'])
  return {
    clock,
    child,
    lines,
    /** Its clocks. */
    async now() {
      child.kill('SIGUSR2')
      await expect.poll(() => lines.some((line) => line.startsWith('now '))).toBe(true)
      return lines.splice(
        lines.findIndex((line) => line.startsWith('now ')),
        1,
      )[0]
    },
  }
}

it('shifts the wall clock alone', async () => {
  const { clock, now, lines } = await start()
  await clock.set(days(1))
  expect(await now()).toBe('now 1440 0')
  await clock.advance(-days(2))
  expect(await now()).toBe('now -1440 0')
  expect(lines).toEqual([])
})

it('lets time pass: both clocks move, and timers fire in their order', async () => {
  const { clock, now, lines } = await start()
  await clock.pass(40_000)
  expect(await now()).toBe('now 1 1')
  expect(lines).toEqual([])
  await clock.pass(110_900)
  await expect.poll(() => lines).toEqual(['first', 'second'])
  expect(await now()).toBe('now 3 3')
  await clock.pass(50_000)
  // The timer of 180 s was refreshed at 150 s, and so is not due.
  await expect.poll(() => lines).toEqual(['first', 'second', 'slept'])
  await clock.pass(150_000)
  await expect.poll(() => lines).toEqual(['first', 'second', 'slept', 'refreshed'])
})

it('lets intervals repeat, and sleepers be called off', async () => {
  const { clock, lines } = await start()
  await clock.pass(500_000)
  await expect.poll(() => lines).toEqual(['first', 'second', 'slept'])
  lines.length = 0
  await clock.pass(500_000)
  await expect.poll(() => lines).toEqual(['sixth', 'refreshed', 'beat'])
  await clock.pass(1_000_000)
  await expect.poll(() => lines).toEqual(['sixth', 'refreshed', 'beat', 'beat'])
  // The interval was cleared.
  await clock.pass(1_000_000)
  await clock.pass(1_500_000)
  await expect.poll(() => lines).toEqual(['sixth', 'refreshed', 'beat', 'beat', 'AbortError'])
})

it('does not wait for a program that exited, or is stopped', async () => {
  const { clock, child } = await start()
  child.kill('SIGSTOP')
  await clock.pass(1000)
  child.kill('SIGCONT')
  child.kill('SIGKILL')
  await once(child, 'exit')
  await clock.pass(1000)
})
