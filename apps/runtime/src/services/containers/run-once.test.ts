/** How long and how often a container that runs once may run. */
import { RpcError, readSettings } from '@selvedge/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Ending, Engine, Instance, Plan } from '../engines/engine.ts'
import { runOnce } from './run-once.ts'

/** Milliseconds. */
let time: number
let pauses: number[]
let lines: string[]
let stopped: number[]
/** How each start ends; undefined: it runs until it is stopped. */
let endings: (Partial<Ending> | Error | undefined)[]
let whilePausing: () => void

beforeEach(() => {
  time = 0
  pauses = []
  lines = []
  stopped = []
  whilePausing = () => undefined
})

const start = async (): Promise<Instance> => {
  const next = endings.shift()
  if (next instanceof Error) throw next
  const exit = Promise.withResolvers<Ending>()
  if (next) exit.resolve({ reason: 'exited', why: `code ${next.exitCode}`, ...next })
  return {
    ended: exit.promise,
    async stop(seconds: number) {
      stopped.push(seconds)
      exit.resolve({ reason: 'exited', why: 'stopped' })
    },
  } as Instance
}

/** With a signal, it is the wait for the deadline: it passes only if the program does not exit. */
async function wait(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal) await new Promise(setImmediate)
  if (signal?.aborted) return
  if (!signal) {
    pauses.push(ms)
    whilePausing()
  }
  time += ms
}

const outcomeOf = async (
  retries: number,
  env: Record<string, string> = {},
  stopping = new AbortController().signal,
): Promise<string> => {
  const plan = {
    settings: readSettings(env),
    content: {},
    log: (_: string, text: string) => lines.push(text),
  } as unknown as Plan
  const engine = { start } as unknown as Engine
  const hold = <T>(_: unknown, work: () => T) => work()
  return runOnce({ engine, hold: hold as never, now: () => time, wait, stopping }, plan, retries).then(
    () => 'completed',
    (cause: RpcError) => cause.message,
  )
}

describe('it is complete', () => {
  it('with exit code 0', async () => {
    endings = [{ exitCode: 0 }]
    expect([await outcomeOf(0), pauses, lines]).toEqual(['completed', [], []])
  })

  it.each<[string, Partial<Ending>]>([
    ['another exit code', { exitCode: 1, why: 'why' }],
    ['no exit code', { why: 'why' }],
    ['more memory than its limit', { reason: 'out_of_memory', exitCode: 0, why: 'why' }],
    ['more of the disk than its limit', { reason: 'disk_full', exitCode: 0, why: 'why' }],
  ])('not with %s', async (_, ending) => {
    endings = [ending, { exitCode: 0 }]
    expect([await outcomeOf(0), endings.length]).toEqual(['why', 1])
  })
})

describe('it is started again', () => {
  it('at once, then after pauses that become longer, as often as it may', async () => {
    endings = [...[1, 2, 3, 4].map((exitCode) => ({ exitCode })), { exitCode: 0 }]
    expect([await outcomeOf(4, { 'MCM.HEALTH_SEC': '600' }), pauses]).toEqual([
      'completed',
      [1000, 2000, 4000],
    ])
    expect(lines[0]).toBe('failed: code 1; it is started again in 0 s')
    endings = [1, 2, 3].map((exitCode) => ({ exitCode }))
    expect([await outcomeOf(1, { 'MCM.HEALTH_SEC': '600' }), endings.length]).toEqual(['code 2', 1])
  })

  it('not if the next start would be after its limit', async () => {
    endings = Array.from({ length: 20 }, () => ({ exitCode: 1 }))
    expect(await outcomeOf(1000, { 'MCM.HEALTH_SEC': '8' })).toBe('code 1')
    expect([pauses, time]).toEqual([[1000, 2000, 4000], 7000])
  })

  it('not if the device or its image lets it not start', async () => {
    endings = [new RpcError('engine_unavailable', 'no engine'), { exitCode: 0 }]
    expect([await outcomeOf(5), endings.length]).toEqual(['no engine', 1])
  })
})

it('a program that does not exit is stopped at its limit', async () => {
  endings = [undefined, { exitCode: 0 }]
  expect(await outcomeOf(5, { 'MCM.HEALTH_SEC': '40', 'MCM.STOP_SEC': '7' })).toContain(
    'it did not exit within 40 s (MCM.HEALTH_SEC), and was stopped',
  )
  expect([stopped, time, endings.length]).toEqual([[7], 40_000, 1])
})

describe('it is stopped before it has completed', () => {
  const end = { why: 'the runtime stops', graceSeconds: 3 }
  const message = 'it was stopped before it had completed: the runtime stops'

  it('while it runs or starts, with the shorter one of two times to exit', async () => {
    for (const seconds of ['7', '2']) {
      const stopping = new AbortController()
      endings = [undefined, { exitCode: 0 }]
      const outcome = outcomeOf(5, { 'MCM.STOP_SEC': seconds }, stopping.signal)
      stopping.abort(end)
      expect([await outcome, endings.length]).toEqual([message, 1])
    }
    expect([stopped, time]).toEqual([[3, 2], 0])
  })

  it('while it waits for its next start', async () => {
    const stopping = new AbortController()
    whilePausing = () => stopping.abort(end)
    endings = [1, 2, 0].map((exitCode) => ({ exitCode }))
    expect([await outcomeOf(5, {}, stopping.signal), endings.length, stopped]).toEqual([message, 1, []])
  })
})
