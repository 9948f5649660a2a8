import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ContainerSettings, RpcError, readSettings } from '@selvedge/protocol'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { manyTurns } from '../../../../../tests/harness/unread.ts'
import type { Ending, Engine, Instance, Plan } from '../engines/engine.ts'
import type { Happening } from './restarts.ts'
import { createService } from './service.ts'

afterEach(() => void vi.useRealTimers())

const settings = (env: Record<string, string> = {}): ContainerSettings => readSettings(env)

const plan = (env: Record<string, string> = {}): Plan =>
  ({
    id: 'c-x',
    revision: 1,
    content: { kind: 'function' },
    settings: settings(env),
    log: () => undefined,
  }) as never

function instance(parts: Partial<Instance> = {}): Instance {
  return {
    upstream: { host: '127.0.0.1', port: 1 },
    isolation: [],
    ended: new Promise<Ending>(() => undefined),
    memory: async () => null,
    responds: async () => true,
    stop: async () => undefined,
    ...parts,
  } as Instance
}

/** A service on an engine with these starts, and what it reported. */
function serviceOn(start: () => Promise<Instance>, env: Record<string, string> = {}) {
  const happenings: Happening[] = []
  let starts = 0
  const engine = {
    start: () => {
      starts++
      return start()
    },
  } as unknown as Engine
  const service = createService(plan(env), {
    engine,
    now: () => Date.now(),
    clock: { now: () => Date.now() },
    hold: (_, work) => work(),
    ready: () => undefined,
    onServing: () => undefined,
    report: (happening) => happenings.push(happening),
  })
  return { service, happenings, starts: () => starts }
}

const noDescriptors = () =>
  Promise.reject(Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE', syscall: 'spawn' }))

it.each([
  ['no free descriptor', noDescriptors],
  [
    'a full disk',
    () =>
      Promise.reject(
        new RpcError('container_failed', 'no room', {
          cause: Object.assign(new Error('x'), { code: 'ENOSPC' }),
        }),
      ),
  ],
  ['an engine that is away', () => Promise.reject(new RpcError('engine_unavailable', 'away'))],
  ['a defect of the runtime', () => Promise.reject(new TypeError('x is not a function'))],
])(
  'after many failed starts for %s the container is not given up, and starts when it can',
  async (_, fail) => {
    vi.useFakeTimers()
    let isWell = false
    const { service, happenings, starts } = serviceOn(() => (isWell ? Promise.resolve(instance()) : fail()), {
      'MCM.IDLE_SEC': '0',
    })
    service.resume()
    await vi.advanceTimersByTimeAsync(600_000)
    expect(starts()).toBeGreaterThan(10)
    // Ever more rarely: a start a second would be 600.
    expect(starts()).toBeLessThan(30)
    expect(happenings.map(({ event, failed }) => [event, failed])).toEqual([['postponed', undefined]])
    isWell = true
    await vi.advanceTimersByTimeAsync(60_000)
    expect(service.running()).toBeDefined()
  },
)

it('what waits for its next start starts at once when it is tried again, and only then', async () => {
  vi.useFakeTimers()
  let isWell = false
  const fail = () => Promise.reject(new RpcError('not_found', 'the secret "db" of the project is not set'))
  const { service, happenings, starts } = serviceOn(() => (isWell ? Promise.resolve(instance()) : fail()), {
    'MCM.IDLE_SEC': '0',
  })
  await service.retry()
  expect(starts()).toBe(0)
  service.resume()
  await vi.advanceTimersByTimeAsync(200_000)
  const before = starts()
  isWell = true
  await Promise.all([service.retry(), service.retry()])
  await vi.advanceTimersByTimeAsync(0)
  expect(starts()).toBe(before + 1)
  expect(service.running()).toBeDefined()
  await service.retry()
  expect(starts()).toBe(before + 1)
  expect(happenings.map(({ event }) => event)).toEqual(['postponed'])
  await service.stop()
  await service.retry()
  expect(service.running()).toBeUndefined()
  expect(starts()).toBe(before + 1)
})

it('a plan that the device does not allow any more starts no instance', async () => {
  const { service, starts } = serviceOn(async () => instance())
  const refused = {
    ...plan(),
    expectAllowed: () => {
      throw new RpcError('invalid_params', 'which this device does not grant')
    },
  }
  await expect(service.prepare(refused)).rejects.toMatchObject({ reason: 'invalid_params' })
  expect(starts()).toBe(0)
})

it('after five failed starts for a reason of its own the container has failed', async () => {
  vi.useFakeTimers()
  const { service, happenings } = serviceOn(
    () => Promise.reject(new RpcError('container_failed', 'it ended with code 1')),
    { 'MCM.IDLE_SEC': '0' },
  )
  service.resume()
  await vi.advanceTimersByTimeAsync(600_000)
  expect(happenings.at(-1)).toMatchObject({ event: 'failed', failed: true })
})

it('an engine that cannot stop instances, or loses their exit, leaves no rejection behind', async () => {
  const unhandled: unknown[] = []
  const note = (cause: unknown) => unhandled.push(cause)
  process.on('unhandledRejection', note)
  const broken = () => {
    const ended = Promise.reject(new Error('rmSync: EBUSY'))
    return Promise.resolve(instance({ ended, stop: () => Promise.reject(new Error('listener.close')) }))
  }
  const { service } = serviceOn(broken)
  service.resume()
  await Promise.resolve(service.acquire()).catch(() => undefined)
  service.switchTo(await service.prepare(plan()))
  service.switchTo(await service.prepare(plan()))
  await service.discard(await service.prepare(plan()))
  await service.stop()
  await manyTurns()
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

it('a function is paused when it is idle, and not while it handles a request', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'Date'] })
  const { service } = serviceOn(async () => instance(), { 'MCM.IDLE_SEC': '10' })
  service.resume()
  const running = await service.acquire()
  const end = running.requests.begin()
  vi.setSystemTime(Date.now() + 3_600_000)
  service.tick()
  expect(service.running()).toBe(running)
  end()
  service.tick()
  expect(service.running()).toBeUndefined()
})

it('a container that ends soon after each start is restarted ever later; after a long run it is restarted at once', async () => {
  vi.useFakeTimers()
  const starts: number[] = []
  let end: (ending: Ending) => void = () => undefined
  const { service, happenings } = serviceOn(
    async () => {
      starts.push(Date.now())
      const ended = new Promise<Ending>((resolve) => {
        end = resolve
      })
      return instance({ ended })
    },
    { 'MCM.IDLE_SEC': '0' },
  )
  service.resume()
  const endNow = async (afterMs: number) => {
    await vi.advanceTimersByTimeAsync(afterMs)
    const at = Date.now()
    const count = starts.length
    end({ reason: 'exited', why: 'exit code 1' })
    await vi.advanceTimersByTimeAsync(0)
    while (starts.length === count && Date.now() - at < 100_000) await vi.advanceTimersByTimeAsync(100)
    return Math.round((Date.now() - at) / 1000)
  }
  const pauses: number[] = []
  for (const afterMs of [10, 10, 10, 10, 61_000, 10, 10]) pauses.push(await endNow(afterMs))
  expect(pauses).toEqual([0, 1, 2, 4, 0, 1, 2])
  expect(happenings.every(({ event }) => event === 'restarted')).toBe(true)
})

/** An instance that ends when it is stopped. */
function ending(parts: Partial<Instance> = {}) {
  const { promise: ended, resolve: end } = Promise.withResolvers<Ending>()
  const stop = async () => end({ reason: 'exited', why: 'it was stopped' })
  return { end, instance: instance({ ended, stop, ...parts }) }
}

it('reports why a container last exited, until it is requested again', async () => {
  const { instance: first, end } = ending()
  const all = [first, ending().instance]
  const { service } = serviceOn(async () => all.shift()!)
  service.resume()
  await service.acquire()
  expect(service.lastEnd()).toBeUndefined()
  end({ reason: 'out_of_memory', why: 'it passed its memory limit' })
  await expect.poll(service.lastEnd).toBe('out_of_memory')
  await service.switchTo(await service.prepare(plan()))
  expect(service.lastEnd()).toBeUndefined()
})

it('reports that the runtime stopped an instance that does not react', async () => {
  const { service } = serviceOn(async () => ending({ responds: async () => false }).instance)
  service.resume()
  await service.overran(await service.acquire())
  await expect.poll(service.lastEnd).toBe('not_reacting')
})

it('reports that a container did not start', async () => {
  const { service } = serviceOn(() => Promise.reject(new RpcError('container_failed', 'no index.js')))
  service.resume()
  await expect(service.acquire()).rejects.toThrow('no index.js')
  expect(service.lastEnd()).toBe('not_started')
})

it('reports that the runtime stopped an instance with a failing health path', async () => {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/health' && isHealthy ? 200 : 500
    response.end(() => answered++)
  })
  let answered = 0
  let isHealthy = true
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  vi.useFakeTimers({ toFake: ['Date'] })
  const upstream = { host: '127.0.0.1', port }
  const { service } = serviceOn(async () => ending({ upstream }).instance, {
    'MCM.HEALTH_PATH': '/health',
    'MCM.IDLE_SEC': '0',
  })
  service.resume()
  await service.acquire()
  isHealthy = false
  for (let check = 0; check < 3; check++) {
    const before = { health: service.health(), answered }
    vi.setSystemTime(Date.now() + 30_000)
    service.tick()
    if (before.health === 'healthy') await expect.poll(service.health).toBe('unhealthy')
    else await expect.poll(() => answered).toBeGreaterThan(before.answered)
    await manyTurns()
  }
  await expect.poll(service.lastEnd).toBe('unhealthy')
})

it('reports that an instance was killed, which did not exit in its time after a stop or a redeployment', async () => {
  const why = 'it did not exit within 1 s, and was killed'
  const slow = () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<Ending>()
    return instance({ ended, stop: async () => end({ reason: 'exited', why, isForced: true }) })
  }
  const all = [slow(), ending().instance, slow()]
  const { service, happenings } = serviceOn(async () => all.shift()!)
  for (let left = 3; left > 0; left--) await service.switchTo(await service.prepare(plan()))
  await service.stop()
  await expect
    .poll(() => happenings.map(({ event, detail }) => [event, detail]))
    .toEqual([
      ['killed', why],
      ['killed', why],
    ])
})

describe('a version that may not run beside another one', () => {
  /** A service with instances that note when they start and stop; the image of revision 3 does not start. */
  function lonely() {
    const events: string[] = []
    const start = async ({ revision }: Plan) => {
      events.push(`start ${revision}`)
      if (revision === 3) throw new RpcError('container_failed', 'broken')
      const end = Promise.withResolvers<Ending>()
      const stop = async () => {
        // It has something to store first.
        await new Promise(setImmediate)
        events.push(`stop ${revision}`)
        end.resolve({ reason: 'exited', why: 'it was stopped' })
      }
      return instance({ ended: end.promise, stop })
    }
    const service = createService(plan({ 'MCM.IDLE_SEC': '0' }), {
      engine: { start, needsAlone: async () => true } as unknown as Engine,
      now: () => Date.now(),
      clock: { now: () => Date.now() },
      hold: (_, work) => work(),
      ready: () => undefined,
      onServing: () => undefined,
      report: () => undefined,
    })
    return { service, events }
  }
  const revision = (at: number) => ({ ...plan({ 'MCM.IDLE_SEC': '0' }), revision: at })

  it('starts when the one before has stopped, and requests wait for it', async () => {
    const { service, events } = lonely()
    await service.switchTo(await service.prepare(revision(1)))
    const prepared = service.prepare(revision(2))
    await expect.poll(service.running).toBeUndefined()
    const asked = service.acquire()
    expect(asked).toBeInstanceOf(Promise)
    const running = await prepared
    expect(events).toEqual(['start 1', 'stop 1', 'start 2'])
    await service.switchTo(running)
    expect(await asked).toBe(running)
    await service.stop()
  })

  it('gives its place back to the one before when it does not start, or is not wanted', async () => {
    const { service, events } = lonely()
    await service.switchTo(await service.prepare(revision(1)))
    await expect(service.prepare(revision(3))).rejects.toThrow('broken')
    expect((await service.acquire()).plan.revision).toBe(1)
    expect(events).toEqual(['start 1', 'stop 1', 'start 3', 'start 1'])
    await service.discard(await service.prepare(revision(2)))
    expect((await service.acquire()).plan.revision).toBe(1)
    expect(events.slice(4)).toEqual(['stop 1', 'start 2', 'stop 2', 'start 1'])
    await service.stop()
  })

  it('does not start what did not run before', async () => {
    const { service, events } = lonely()
    await expect(service.prepare(revision(3))).rejects.toThrow('broken')
    expect(() => service.acquire()).toThrow('is stopped')
    expect(events).toEqual(['start 3'])
  })
})
