/** Functions with `MCM.CRON`: they are called at their times, in the sandbox, also after a pause, a crash and a redeploy, and by the runtime alone. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerRecord } from '@selvedge/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { root } from '../../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../../harness/program-clock.ts'
import { type Services, startServices } from '../../harness/services.ts'

const minute = 60_000

let services: Services
let clock: ProgramClock
beforeAll(async () => {
  clock = await createProgramClock()
  services = await startServices({ env: clock.env })
})
afterAll(async () => {
  await services.stop()
  await clock.remove()
})

// A minute that begins while a test waits for something else would call its function in the middle of that.
beforeEach(() => clock.pass(minute - (clock.now() % minute) + 1))

interface SeenEvent {
  readonly cron: string
  readonly time: number
  readonly version?: string
}

/** Stores each event that it gets, and answers with all of them. */
const recording = `
const seen = (storage) => JSON.parse(storage.getItem('events') ?? '[]')
export default {
  fetch: (request, env, ctx) => Response.json(seen(ctx.storage)),
  scheduled(event, env, ctx) {
    event.noRetry()
    const one = { cron: event.cron, time: event.scheduledTime, version: env.VERSION }
    ctx.waitUntil(Promise.resolve().then(() => ctx.storage.setItem('events', JSON.stringify([...seen(ctx.storage), one]))))
  },
}`
const everyMinute = { 'MCM.CRON': '* * * * *', 'MCM.ACCESS': 'public' }

const events = async ({ basePath }: ContainerRecord): Promise<SeenEvent[]> =>
  JSON.parse((await services.call(basePath, { token: null })).text)
const find = async ({ id }: ContainerRecord) =>
  (await services.runtime().getContainers({ edgeAccessToken: services.token })).find(
    (each) => each.id === id,
  )!
const lastOf = async (container: ContainerRecord) => (await find(container)).schedule?.last
const linesOf = async ({ id }: ContainerRecord) =>
  (await services.runtime().getContainerLogs({ edgeAccessToken: services.token, id, tail: 200 })).lines.map(
    ({ text }) => text,
  )
/** Lets a minute pass, and waits until a function has handled a time of it. */
async function passMinute(container: ContainerRecord): Promise<void> {
  const before = (await lastOf(container))?.scheduledAt
  await clock.pass(minute)
  await expect.poll(async () => (await lastOf(container))?.scheduledAt).not.toBe(before)
}
const remove = ({ id }: ContainerRecord) =>
  services.runtime().removeContainer({ edgeAccessToken: services.token, id })

describe('a function with times', () => {
  it('is started from its pause, called, and paused again', async () => {
    const one = await services.deploy('paused', recording, { ...everyMinute, 'MCM.IDLE_SEC': '5' })
    await clock.passWhile(async () => (await find(one)).state !== 'paused')
    await passMinute(one)
    expect(await lastOf(one)).toMatchObject({ cron: '* * * * *', outcome: 'succeeded', detail: null })
    await clock.passWhile(async () => (await find(one)).state !== 'paused')
    const seen = await events(one)
    expect(seen.length).toBeGreaterThan(0)
    for (const { cron, time } of seen)
      expect({ cron, rest: time % minute }).toEqual({ cron: '* * * * *', rest: 0 })
    expect(new Set(seen.map(({ time }) => time)).size).toBe(seen.length)
    expect((await find(one)).schedule?.nextAt).toMatch(/:00\.000Z$/)
    await remove(one)
  })

  it('may be a script, and gets its context', async () => {
    const script = `
      mimikModule.exports = (context, request, response) => response.end(context.storage.getItem('events') ?? '[]')
      mimikModule.scheduled = async (event, context) => {
        context.waitUntil(Promise.resolve())
        context.storage.setItem('events', JSON.stringify([{ cron: event.cron, version: context.env.VERSION }]))
      }`
    const one = await services.deploy('script', script, { ...everyMinute, VERSION: '1' })
    await passMinute(one)
    expect(await events(one)).toEqual([{ cron: '* * * * *', version: '1' }])
    await remove(one)
  })

  it('may answer no requests', async () => {
    const one = await services.deploy('silent', 'export default { scheduled() {} }', everyMinute)
    await passMinute(one)
    expect(await lastOf(one)).toMatchObject({ outcome: 'succeeded' })
    expect((await services.call(one.basePath, { token: null })).status).toBe(404)
    await remove(one)
  })

  it('runs its new revision after a redeploy', async () => {
    await services.deploy('next', recording, { ...everyMinute, VERSION: '1' })
    const one = await services.deploy('next', recording, { ...everyMinute, VERSION: '2' })
    await passMinute(one)
    expect((await events(one)).at(-1)).toMatchObject({ version: '2' })
    await remove(one)
  })

  it.each([
    ['throws', 'throw new Error("no network")'],
    ['fails in waitUntil', 'ctx.waitUntil(Promise.reject(new Error("no network")))'],
    ['throws what is no error', 'throw { toString() { throw 1 } }', 'it threw something that is no text'],
  ])('that %s has failed, with a line in the log', async (name, code, why = 'no network') => {
    const source = `export default { scheduled(event, env, ctx) { ${code} } }`
    const one = await services.deploy(name.replaceAll(' ', '-'), source, everyMinute)
    await passMinute(one)
    expect(await lastOf(one)).toMatchObject({ outcome: 'failed', detail: expect.stringContaining(why) })
    expect((await linesOf(one)).join('\n')).toMatch(/the run of .* \(\* \* \* \* \*\) failed: /)
    await remove(one)
  })

  it('that hangs loses its instance at the time limit, and answers and runs again', async () => {
    const source = `let isFirst = true
      export default {
        fetch: () => new Response('answer'),
        scheduled: () => isFirst ? new Promise(() => setInterval(() => {}, 1000)) : undefined,
      }`
    const one = await services.deploy('hanging', source, {
      ...everyMinute,
      'MCM.MAX_EXECUTION_TIME_SEC': '5',
    })
    await clock.pass(minute)
    await clock.passWhile(async () => (await lastOf(one))?.outcome !== 'timed_out')
    expect((await services.call(one.basePath, { token: null })).text).toBe('answer')
  })
})

describe('a run on request', () => {
  it('calls the handler of a function without times, for its owner', async () => {
    const one = await services.deploy('by-request', recording, { 'MCM.ACCESS': 'public' })
    const ask = { edgeAccessToken: services.token, id: one.id }
    expect(await services.runtime().runScheduled({ ...ask, cron: '0 3 * * *' })).toEqual({
      outcome: 'succeeded',
      detail: null,
    })
    expect(await events(one)).toMatchObject([{ cron: '0 3 * * *' }])
    await expect(services.runtime().runScheduled({ ...ask, cron: '0 0 30 2 *' })).rejects.toThrow('cron')
    const silent = await services.deploy('no-handler', 'export default { fetch: () => new Response() }')
    expect(await services.runtime().runScheduled({ ...ask, id: silent.id })).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('no handler'),
    })
    for (const each of [one, silent]) await remove(each)
  })
})

describe('times are refused', () => {
  it.each([
    [
      'without a handler for them',
      'export default { fetch: () => new Response() }',
      'index.js',
      'has no handler',
    ],
    [
      'of WASM',
      readFileSync(join(root, 'tests/system/services/counter.wasm')),
      'index.wasm',
      'a function in WASM',
    ],
  ])('%s', async (_, source, file, why) => {
    await expect(services.deploy('refused', source, everyMinute, file)).rejects.toThrow(why)
  })

  it.each(['0 0 30 2 *', '* * * * * *', 'x'])('of the expression %j', async (cron) => {
    const env = { ...everyMinute, 'MCM.CRON': cron }
    await expect(services.deploy('refused', recording, env)).rejects.toThrow(/MCM\.CRON.*five fields/)
  })
})

describe('no caller reaches the handler', () => {
  it('neither a request with any path, header or method, nor another function', async () => {
    const one = await services.deploy('target', recording, { ...everyMinute, 'MCM.CRON': '0 0 29 2 *' })
    const attacker = await services.deploy(
      'attacker',
      `export default { async fetch(request, env, ctx) {
        const url = 'http://127.0.0.1:8083${one.basePath}'
        const answers = []
        for (const path of ['/__scheduled?cron=*', '/cdn-cgi/handler/scheduled', ''])
          for (const name of ['x-selvedge-scheduled', 'cf-cron', 'x-test'])
            answers.push((await fetch(url + path, { method: 'POST', headers: { [name]: '* * * * *' } })).status)
        return Response.json(answers)
      } }`,
      { 'MCM.ACCESS': 'public' },
    )
    await services.call(attacker.basePath, { token: null })
    const message = JSON.stringify({ scheduled: 1, cron: '* * * * *', time: 0 })
    for (const path of ['/__scheduled?cron=*+*+*+*+*', '/cdn-cgi/handler/scheduled', '/scheduled', ''])
      for (const headers of [{}, { 'X-Selvedge-Scheduled': '1' }, { 'X-Selvedge-Events': 'true' }])
        for (const method of ['GET', 'POST'])
          await services.call(one.basePath + path, {
            method,
            headers,
            token: null,
            ...(method === 'POST' && { body: message }),
          })
    expect(await events(one)).toEqual([])
    expect(await lastOf(one)).toBeNull()
    for (const each of [one, attacker]) await remove(each)
  })
})

describe('a time that passed while the runtime was off', () => {
  it('is run once where that is set, and not again if the runtime is killed meanwhile', async () => {
    const source = `export default {
      fetch: (request, env, ctx) => new Response(ctx.storage.getItem('begun') ?? '0'),
      scheduled(event, env, ctx) {
        ctx.storage.setItem('begun', String(Number(ctx.storage.getItem('begun') ?? 0) + 1))
        return new Promise(() => setInterval(() => {}, 1000))
      },
    }`
    const inTenMinutes = new Date(clock.now() + 10 * minute).getUTCMinutes()
    const env = { ...everyMinute, 'MCM.CRON': `${inTenMinutes} * * * *`, 'MCM.CRON_MISSED': 'run-once' }
    const one = await services.deploy('killed', source, env)
    const begun = async () => (await services.call(one.basePath, { token: null })).text
    await services.stopRuntime()
    await clock.advance(20 * minute)
    await services.restart()
    await expect.poll(begun).toBe('1')
    await services.restart('SIGKILL')
    expect(await begun()).toBe('1')
    const { nextAt } = (await find(one)).schedule!
    expect(Date.parse(nextAt!)).toBeGreaterThan(clock.now())
    await remove(one)
  })
})
