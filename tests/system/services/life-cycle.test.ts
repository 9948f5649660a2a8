/** Desired state, restarts, redeploys: the same rules whatever runs. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessToken, createDeveloper } from '../../harness/flow.ts'
import { descendantsOf } from '../../harness/instances.ts'
import { startProgram } from '../../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../../harness/program-clock.ts'
import { type Services, startServices } from '../../harness/services.ts'

let services: Services
let clock: ProgramClock
beforeAll(async () => {
  clock = await createProgramClock()
  services = await startServices({ envOf: { runtime: clock.env } })
})
afterAll(async () => {
  await services.stop()
  await clock.remove()
})

const query = (id: string) => ({ edgeAccessToken: services.token, id })
const historyOf = async (id: string) => (await services.runtime().getContainerHistory(query(id))).history
const find = async (id: string) =>
  (await services.runtime().getContainers({ edgeAccessToken: services.token })).find(
    (each) => each.id === id,
  )!
const version = (text: string) => `export default { fetch: () => new Response(${JSON.stringify(text)}) }`
const keep = { 'MCM.IDLE_SEC': '0' }

describe('what is wanted', () => {
  it('is back after a restart, with no network; what was stopped stays stopped', async () => {
    const up = await services.deploy('up', version('up'), keep)
    const lazy = await services.deploy('lazy', version('lazy'))
    const down = await services.deploy('down', version('down'), keep)
    expect((await services.runtime().stopContainer(query(down.id))).state).toBe('stopped')
    await services.stack.identity.stop()
    await services.stack.discovery.stop()
    await services.restart('SIGKILL')
    expect((await services.call(up.basePath)).text).toBe('up')
    expect((await find(up.id)).state).toBe('running')
    expect((await find(lazy.id)).state).toBe('paused')
    expect((await services.call(lazy.basePath)).text).toBe('lazy')
    expect((await find(down.id)).state).toBe('stopped')
    const refused = await services.call(down.basePath)
    expect(refused.status).toBe(503)
    expect(JSON.parse(refused.text).error.reason).toBe('stopped')
    expect(refused.headers['retry-after']).toBeUndefined()
    expect((await services.runtime().startContainer(query(down.id))).state).toBe('running')
    expect((await services.call(down.basePath)).text).toBe('down')
    expect((await historyOf(down.id)).map(({ event }) => event)).toEqual(['deployed', 'stopped', 'started'])
  })

  it('says who did what, by which rule, after it is gone, too', async () => {
    const { id } = await services.deploy('gone', version('x'))
    await services.runtime().removeContainer(query(id))
    const by = { accountId: services.developer.accountId, clientId: services.developer.clientId }
    expect(await historyOf(id)).toMatchObject([
      { event: 'deployed', rule: 'deployContainer', by },
      { event: 'removed', rule: 'removeContainer', by },
    ])
    expect((await services.call(`/${by.clientId}/gone`)).status).toBe(404)
    await expect(services.runtime().removeContainer(query(id))).rejects.toMatchObject({ reason: 'not_found' })
  })

  it('is refused with a reason where it can’t be', async () => {
    const deploy = (spec: object) =>
      services.runtime().deployContainer({ edgeAccessToken: services.token, spec: spec as never })
    await services.deploy('taken', version('x'), { 'MCM.BASE_API_PATH': '/taken/v1' })
    await expect(deploy({ name: 'x', image: 'nothing', env: {} })).rejects.toMatchObject({
      reason: 'not_found',
      message: 'cannot find image with name "nothing"',
    })
    await expect(
      deploy({ name: 'x', image: 'taken', env: { 'MCM.BASE_API_PATH': '/taken/v1' } }),
    ).rejects.toMatchObject({ reason: 'conflict' })
    for (const env of [
      { 'MCM.BASE_API_PATH': '../x' },
      { 'MCM.BASE_API_PATH': '/a/../b' },
      { 'MCM.ACCESS': 'all' },
      { 'MCM.IDLE_SEC': '-1' },
      { 'MCM.TYPO': '1' },
      { 'MCM.OUTBOUND': 'http://x/' },
    ])
      await expect(deploy({ name: 'x', image: 'taken', env })).rejects.toMatchObject({
        reason: 'invalid_params',
      })
    for (const spec of [
      {},
      { name: '../x', image: 'taken' },
      { name: 'x', image: 'taken', env: { a: 1 } },
      { name: 'x', image: 'taken', more: 1 },
    ])
      await expect(deploy(spec)).rejects.toMatchObject({ reason: 'invalid_params' })
    await expect(
      services.runtime().removeImage(query(`${services.developer.clientId}-taken`)),
    ).rejects.toMatchObject({ reason: 'in_use' })
  })
})

describe('one that ends by itself', () => {
  it('is started again, then later and later, and has failed in the end, with its last output', async () => {
    const source = `console.error('about to go'); setTimeout(() => Deno.exit(7), 60); export default { fetch: () => new Response('x') }`
    const { id, basePath } = await services.deploy('crash', source)
    const states = new Set<string>()
    await expect
      .poll(
        async () => {
          await services.call(basePath)
          const { state } = await find(id)
          states.add(state)
          await clock.pass(1000)
          return state
        },
        { interval: 20 },
      )
      .toBe('failed')
    const { reason, restarts } = await find(id)
    expect(reason).toMatch(/exit code 7[\s\S]*about to go/)
    expect(restarts).toBe(5)
    const history = await historyOf(id)
    expect(history.at(-1)).toMatchObject({ event: 'failed', by: null })
    expect(history.filter(({ event }) => event === 'restarted')).toHaveLength(5)
    const refused = await services.call(basePath)
    expect([refused.status, JSON.parse(refused.text).error.reason]).toEqual([503, 'container_failed'])
    const notices = async () => (await services.runtime().getMe()).notices.map(({ reason }) => reason)
    expect(await notices()).toContain('container_failed')
    await services.restart()
    expect((await find(id)).state).toBe('failed')
    expect(await notices()).toContain('container_failed')
  })

  it('runs once more when it is deployed again', async () => {
    const { basePath, state, restarts } = await services.deploy('crash', version('mended'))
    expect({ state, restarts, text: (await services.call(basePath)).text }).toEqual({
      state: 'running',
      restarts: 0,
      text: 'mended',
    })
    const { notices } = await services.runtime().getMe()
    expect(notices.map(({ reason }) => reason)).not.toContain('container_failed')
  })
})

describe('a redeploy', () => {
  it('that fails changes nothing but the record: the old version never stopped', async () => {
    const { id, basePath } = await services.deploy('rolled', version('one'), keep)
    const started = (await find(id)).startedAt
    const failing: [string, string, Record<string, string>][] = [
      ['does not load', 'throw new Error("broken build")', {}],
      [
        'is not healthy',
        version('x').replace(
          'fetch: () => new Response("x")',
          'fetch: () => new Response("x", { status: 500 })',
        ),
        { 'MCM.HEALTH_PATH': '/health', 'MCM.HEALTH_SEC': '1' },
      ],
    ]
    for (const [what, source, env] of failing) {
      await expect(services.deploy('rolled', source, { ...keep, ...env }), what).rejects.toMatchObject({
        reason: 'container_failed',
        message: expect.stringMatching(/^rolled back: /),
      })
      expect((await services.call(basePath)).text).toBe('one')
      const record = await find(id)
      expect({ ...record, reason: record.reason?.slice(0, 12) }).toMatchObject({
        state: 'running',
        reason: 'rolled back:',
        startedAt: started,
      })
    }
    expect((await historyOf(id)).map(({ event }) => event)).toEqual([
      'deployed',
      'rolled back',
      'rolled back',
    ])
    await services.deploy('rolled', version('two'), keep)
    expect((await services.call(basePath)).text).toBe('two')
    expect((await find(id)).reason).toBeNull()
  })

  it('loses none of 10,000 requests in 20 of them', async () => {
    const { basePath } = await services.deploy('busy', version('0'), keep)
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    const { hostname, port } = new URL(services.url())
    const seen = new Map<string, number>()
    const one = () =>
      new Promise<void>((resolve, reject) => {
        request(
          { hostname, port, agent, path: basePath, headers: { Authorization: `Bearer ${services.token}` } },
          (response) => {
            let text = ''
            response.on('data', (chunk) => {
              text += chunk
            })
            response.on('end', () => {
              const key = `${response.statusCode} ${text}`
              seen.set(key, (seen.get(key) ?? 0) + 1)
              resolve()
            })
          },
        )
          .on('error', reject)
          .end()
      })
    let isOver = false
    let sent = 0
    const sender = async () => {
      while (!isOver || sent < 10_000) {
        sent++
        await one()
      }
    }
    const sending = Promise.all(Array.from({ length: 16 }, sender))
    for (let at = 1; at <= 20; at++) {
      await services.deploy('busy', version(String(at)), keep)
      while (!seen.has(`200 ${at}`)) await one()
    }
    isOver = true
    await sending
    agent.destroy()
    expect([...seen.keys()].filter((key) => !key.startsWith('200 '))).toEqual([])
    expect(seen.size).toBe(21)
    expect(sent).toBeGreaterThanOrEqual(10_000)
    console.info(`${sent} requests during 20 redeploys: none failed`)
  })

  it('that is none restarts nothing: a lost cloud, one that is back, another token', async () => {
    const own = await startServices()
    const { id, basePath } = await own.deploy(
      'steady',
      'export default { fetch: () => new Response(String(performance.timeOrigin)) }',
      keep,
    )
    const before = (await own.call(basePath)).text
    const token = await accessToken(own.stack, own.developer)
    expect(token).not.toBe(own.token)
    expect((await own.call(basePath, { token })).text).toBe(before)
    await own.stack.identity.stop()
    await own.stack.discovery.stop()
    expect((await own.call(basePath)).text).toBe(before)
    const identity = await startProgram('identity', {
      SELVEDGE_STATE: own.stack.state,
      SELVEDGE_IDENTITY_PORT: new URL(own.stack.identity.url).port,
    })
    await own.runtime().getEdgeIdToken()
    expect((await own.call(basePath)).text).toBe(before)
    const { history } = await own.runtime().getContainerHistory({ edgeAccessToken: own.token, id })
    expect(history.map(({ event }) => event)).toEqual(['deployed'])
    await identity.stop()
    await own.stop()
  })
})

describe('the runtime', () => {
  it('leaves no process of a function behind, however it ends', async () => {
    await services.deploy('child', version('x'), keep)
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      // After a restart it comes back by itself, a moment after the runtime is ready.
      await expect.poll(() => descendantsOf(services.runtimePid())).not.toEqual([])
      const before = descendantsOf(services.runtimePid())
      await services.restart(signal)
      await expect.poll(() => before.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
    }
  })
})

describe('a device that changes hands', () => {
  it('does not go on with the containers of the former account, and takes them up when it is back', async () => {
    const old = await startServices()
    const { id, basePath } = await old.deploy('left', version('left'), { ...keep, 'MCM.ACCESS': 'public' })
    const guarded = await old.deploy('guarded', version('guarded'), keep)
    await old.runtime().unassociateAccount({ edgeAccessToken: old.token })
    await expect.poll(async () => (await old.call(basePath, { token: null })).status).toBe(404)
    await old.restart()
    expect((await old.call(basePath, { token: null })).status).toBe(404)
    const stranger = await createDeveloper(old.stack.state)
    const token = await accessToken(old.stack, stranger)
    await old.runtime().associateAccount({ edgeAccessToken: token })
    expect(await old.runtime().getContainers({ edgeAccessToken: token })).toEqual([])
    expect((await old.call(guarded.basePath, { token })).status).toBe(404)
    await expect(old.runtime().removeContainer({ edgeAccessToken: token, id })).rejects.toMatchObject({
      reason: 'not_found',
    })
    await old.runtime().unassociateAccount({ edgeAccessToken: token })
    const again = await accessToken(old.stack, old.developer)
    await old.runtime().associateAccount({ edgeAccessToken: again })
    await expect.poll(async () => (await old.call(basePath, { token: null })).text).toBe('left')
    await old.stop()
  })
})

describe('a damaged document', () => {
  it('takes nothing with it: with the document from a backup all is back', async () => {
    const own = await startServices()
    const source = `mimikModule.exports = (context, request, response) => {
      if (request.url === '/set') context.storage.setItem('kept', 'yes')
      response.end(context.storage.getItem('kept') || 'no')
    }`
    const { basePath } = await own.deploy('kept', source, keep)
    expect((await own.call(`${basePath}/set`)).text).toBe('yes')
    await own.stopRuntime()
    const path = (slot: string) => `${own.stack.state}/runtime/deployments.${slot}`
    const backup = ['a', 'b'].map((slot) => readFileSync(path(slot)))
    for (const slot of ['a', 'b']) writeFileSync(path(slot), 'selvedge 7 damaged')
    await own.restart()
    const { notices } = await own.runtime().getMe()
    expect(notices).toMatchObject([{ reason: 'deployments_damaged' }])
    expect((await own.call(basePath)).status).toBe(404)
    await own.stopRuntime()
    for (const [at, slot] of ['a', 'b'].entries()) writeFileSync(path(slot), backup[at]!)
    await own.restart()
    expect((await own.call(basePath)).text).toBe('yes')
    await own.stop()
  })
})
