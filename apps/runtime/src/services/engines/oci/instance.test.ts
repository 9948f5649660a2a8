import { setImmediate as turn } from 'node:timers/promises'
import { readSettings } from '@selvedge/protocol'
import { beforeEach, expect, it } from 'vitest'
import type { Plan } from '../engine.ts'
import type { EngineApi } from './engine-api.ts'
import { followContainer } from './instance.ts'

/** Calls of the engine: path, and milliseconds without an answer after which it is given up. */
let calls: { path: string; maxIdleMs: number | undefined }[]
beforeEach(() => {
  calls = []
  answersAtOnce = false
  states = []
})

/** Whether the engine answers those who wait for an exit at once, though nothing exited. */
let answersAtOnce = false

/** What it reports of the container, one after the other; then it does not answer. */
let states: object[] = []

/** An engine that by itself never reports the end of a container. */
const api: EngineApi = {
  socketPath: '',
  read: async <T>() =>
    (states.length > 0
      ? { State: states.shift(), Config: {}, NetworkSettings: {} }
      : new Promise(() => undefined)) as T,
  send: (_method, path, _body, maxIdleMs) => {
    calls.push({ path, maxIdleMs })
    return path.includes('/wait') && !answersAtOnce ? new Promise(() => undefined) : Promise.resolve()
  },
  ping: () => Promise.resolve(),
  ask: () => new Promise(() => undefined),
  upload: () => Promise.resolve(''),
  follow: (path) => {
    calls.push({ path, maxIdleMs: 0 })
    return Promise.reject(new Error('no log'))
  },
}

const follow = (isNew: boolean) =>
  followContainer({
    api,
    name: 'c',
    plan: { settings: readSettings({}), log: () => undefined } as unknown as Plan,
    upstream: { host: '127.0.0.1', port: 1 },
    portOf: () => undefined,
    stopSignal: 'SIGTERM',
    readiness: { ready: 'tcp', portInWords: '8080 (MCM.PORT)', ports: [8080] },
    healthCommand: undefined,
    isolation: [],
    renewFiles: undefined,
    isNew,
    watchDisk: () => () => undefined,
    remove: async () => undefined,
    release: async () => undefined,
  })

it('waits for the engine longer than the grace of the container, whatever that is', async () => {
  for (const grace of [1, 40, 600]) {
    const instance = follow(true)
    await instance.stop(grace)
    const stop = calls.find(({ path }) => path === `/containers/c/stop?t=${grace}`)
    expect(stop?.maxIdleMs).toBeGreaterThan(grace * 1000)
  }
})

it('reads the whole log of a new container, and the last 200 lines of one that was found running', async () => {
  for (const isNew of [true, false]) await follow(isNew).stop(0)
  const tails = calls.flatMap(({ path }) => /tail=(\w+)/.exec(path)?.[1] ?? [])
  expect(tails).toEqual(['all', '200'])
})

it('an engine that does not wait for the exit gets one request, and the next one after a pause', async () => {
  answersAtOnce = true
  const instance = follow(true)
  for (let at = 0; at < 100; at++) await turn()
  expect(calls.filter(({ path }) => path.includes('/wait'))).toHaveLength(1)
  await instance.stop(0)
})

it('a container that is being stopped has not exited while it has its process', async () => {
  const stopping = { Running: false, ExitCode: 0, Pid: 7 }
  states = [{ ...stopping, Running: true }, stopping, stopping, { ...stopping, ExitCode: 3, Pid: 0 }]
  const { why } = await follow(true).ended
  expect(why).toContain('exit code 3')
})
