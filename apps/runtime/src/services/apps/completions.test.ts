/** Members of an app that run once: each has to exit with 0 before the app serves, and does not start again. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AppPlan, type AppService, RpcError } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Device,
  openDevice,
  own,
  plan,
  reasonOf,
  service,
} from '../../../../../tests/harness/app-device.ts'
import type { Ending } from '../engines/engine.ts'

let device: Device
beforeEach(async () => {
  device = await openDevice()
  device.seen.exits.set('shop-migrate', () => exit(0))
})
afterEach(() => device.close())

const exit = (exitCode: number): Ending => ({
  reason: 'exited',
  why: `it exited with code ${exitCode}`,
  exitCode,
})
const once = (more: Partial<AppService> = {}) =>
  service('migrate', { restart: 'no', dependsOn: [healthy('db')], ...more })
const healthy = (name: string) => ({ service: name, condition: 'healthy' as const, isRequired: true })
const completed = { service: 'migrate', condition: 'completed', isRequired: true } as const
const shop = (migrate = once(), web: Partial<AppService> = {}): AppPlan =>
  plan('shop', [service('db'), migrate, service('web', { dependsOn: [completed], ...web })])

const failureOf = (work: Promise<unknown>): Promise<RpcError> =>
  work.then(
    () => Promise.reject(new Error('it did not fail')),
    (cause: unknown) => (cause instanceof RpcError ? cause : Promise.reject(cause)),
  )
const statesOf = async () =>
  (await device.apps.get(own, 'shop')).members.map(({ container }) => container?.state)
const reopen = async (folder = device.folder) => {
  await device.close(folder !== device.folder)
  device = await openDevice(folder)
  device.seen.exits.set('shop-migrate', () => exit(0))
}

describe('a member that runs once', () => {
  it('runs to its end in its turn, and those that wait for it start then', async () => {
    const order: string[] = []
    device.seen.exits.set('shop-migrate', () => {
      order.push('migrate exits')
      return exit(0)
    })
    device.seen.whileStarting = async ({ key }) => order.push(key.slice(key.lastIndexOf('/') + 1))
    const { members } = await device.apps.deploy(own, shop())
    expect(order).toEqual(['shop-db', 'shop-migrate', 'migrate exits', 'shop-web'])
    expect(members.map(({ container }) => [container?.state, container?.completed])).toEqual([
      ['running', undefined],
      ['completed', { exitCode: 0, at: expect.stringMatching(/^\d{4}-.*Z$/) }],
      ['running', undefined],
    ])
    expect(device.seen.running.toSorted()).toEqual(['shop-db r1', 'shop-web r1'])
    const [, { container }] = members as unknown as [unknown, { container: { env: object } }]
    expect(container.env).toMatchObject({ 'MCM.READY': 'none', 'MCM.HEALTH_SEC': '600' })
  })

  it('shows its output in the log afterwards, and has no route', async () => {
    device.seen.whileStarting = async ({ key, log }) => {
      if (key.endsWith('/shop-migrate')) log('stdout', 'three tables made')
    }
    await device.apps.deploy(own, shop())
    expect(device.containers.logs(own, 'shop-migrate').tail(1)).toMatchObject([{ text: 'three tables made' }])
    const route = device.containers.routes().find(({ id }) => id === 'c-shop-migrate')
    expect([route?.prefixes, route?.isStopped()]).toEqual([[], true])
    expect(() => route?.service.acquire()).toThrow('is stopped')
  })

  it('does not start again: not at a restart of the runtime, a start or stop of the app, or by itself', async () => {
    await device.apps.deploy(own, shop())
    await reopen()
    await expect.poll(() => device.seen.running.toSorted()).toEqual(['shop-db r1', 'shop-web r1'])
    expect(await statesOf()).toEqual(['running', 'completed', 'running'])
    await device.apps.stop(own, 'shop')
    expect(await statesOf()).toEqual(['stopped', 'completed', 'stopped'])
    await device.apps.start(own, 'shop')
    expect(await statesOf()).toEqual(['running', 'completed', 'running'])
    expect(await reasonOf(() => device.containers.start(own, 'shop-migrate'))).toBe('conflict')
    expect(device.seen.started).not.toContain('shop-migrate')
  })

  it('is redeployed only if its image, settings or variables changed', async () => {
    const startedBy = async (wanted: AppPlan) => {
      device.seen.started = []
      await device.apps.deploy(own, wanted)
      return device.seen.started
    }
    const joined = { networks: [{ network: 'x', aliases: [] }] }
    const withNetwork = { ...shop(once(joined), joined), networks: [{ name: 'x', isInternal: false }] }
    await device.apps.deploy(own, shop())
    expect(await startedBy(shop())).toEqual([])
    expect(await startedBy(shop(once(), { image: 'j' }))).toEqual(['shop-web'])
    expect(await startedBy(withNetwork)).toEqual(['shop-web'])
    expect(await statesOf()).toEqual(['running', 'completed', 'running'])
    await device.apps.stop(own, 'shop')
    expect(await startedBy(withNetwork)).toEqual(['shop-db', 'shop-web'])
    expect(await startedBy(shop(once({ image: 'j' })))).toContain('shop-migrate')
    expect(await startedBy(shop(once({ image: 'j', env: { X: '2' } })))).toEqual(['shop-migrate'])
  })

  it('runs again with another value of its secret', async () => {
    const using = once({ secrets: [{ secret: 'password', file: 'password' }] })
    const wanted: AppPlan = {
      ...shop(using),
      secrets: [{ name: 'password', from: 'environment', variable: 'X' }],
    }
    const valueAs = (text: string) => [{ name: 'password', value: Buffer.from(text).toString('base64') }]
    await device.apps.deploy(own, wanted, valueAs('one'))
    device.seen.started = []
    await device.apps.deploy(own, wanted, valueAs('one'))
    expect(device.seen.started).toEqual([])
    await device.apps.deploy(own, wanted, valueAs('two'))
    expect(device.seen.started).toEqual(['shop-migrate'])
  })

  it('may become a service, and a service may become one', async () => {
    device.seen.exits.clear()
    const always = once({ restart: 'always' })
    await device.apps.deploy(own, plan('shop', [service('db'), always]))
    device.seen.exits.set('shop-migrate', () => exit(0))
    await device.apps.deploy(own, shop())
    expect(await statesOf()).toEqual(['running', 'completed', 'running'])
    await expect.poll(() => device.seen.running.toSorted()).toEqual(['shop-db r1', 'shop-web r1'])
    device.seen.exits.clear()
    await device.apps.deploy(own, plan('shop', [service('db'), always]))
    expect(await statesOf()).toEqual(['running', 'running'])
  })

  it('is removed with its app, and by a plan without it', async () => {
    await device.apps.deploy(own, shop())
    await device.apps.deploy(own, plan('shop', [service('db')]))
    expect(device.containersIn()).toEqual({ 'shop-db': 'i r1' })
    expect(Object.values(device.stored.value)[0]?.current?.completed).toEqual([])
    await device.apps.deploy(own, shop())
    await device.apps.remove(own, 'shop')
    expect([device.containersIn(), device.stored.value]).toEqual([{}, {}])
  })
})

describe('a member that runs once and fails', () => {
  it('rolls the app back, with its exit code and its last lines', async () => {
    await device.apps.deploy(own, plan('shop', [service('db')]))
    device.seen.exits.set('shop-migrate', () => exit(3))
    device.seen.whileStarting = async ({ key, log }) => {
      if (key.endsWith('/shop-migrate')) log('stderr', 'no such table')
    }
    const cause = await failureOf(device.apps.deploy(own, shop()))
    expect([cause.reason, cause.message]).toEqual(['container_failed', 'shop-migrate: it exited with code 3'])
    expect(cause.hint).toContain('Its last lines: no such table')
    expect(cause.hint).toContain('The app shop is as before: revision 1.')
    expect(device.seen.started).toEqual(['shop-db', 'shop-migrate'])
    expect([device.containersIn(), device.seen.running]).toEqual([{ 'shop-db': 'i r1' }, ['shop-db r1']])
  })

  it('is started again with "on-failure", as often as the plan has it', async () => {
    const codes = [1, 0]
    device.seen.exits.set('shop-migrate', () => exit(codes.shift()!))
    await device.apps.deploy(own, shop(once({ restart: 'on-failure', maxRestarts: 1 })))
    expect(await statesOf()).toEqual(['running', 'completed', 'running'])
    device.seen.exits.set('shop-migrate', () => exit(1))
    device.seen.started = []
    const again = shop(once({ restart: 'on-failure', maxRestarts: 1, image: 'j' }))
    expect((await failureOf(device.apps.deploy(own, again))).message).toContain('exited with code 1')
    expect(device.seen.started).toEqual(['shop-migrate', 'shop-migrate'])
    expect(await statesOf()).toEqual(['running', 'completed', 'running'])
  })

  it('has not completed if another member fails after it: the next deployment runs it again', async () => {
    device.seen.whileStarting = async ({ key }) => {
      if (key.endsWith('/shop-web')) throw new Error('no port')
    }
    await failureOf(device.apps.deploy(own, shop()))
    expect([device.containersIn(), device.stored.value]).toEqual([{}, {}])
    device.seen.whileStarting = async () => undefined
    device.seen.started = []
    await device.apps.deploy(own, shop())
    expect(device.seen.started).toEqual(['shop-db', 'shop-migrate', 'shop-web'])
  })

  it.each<[string, AppPlan]>([
    ['a function', shop(once({ image: 'f' }))],
    ['a member with ports', shop(once({ env: { 'MCM.PORTS': '1883/tcp' } }))],
  ])('cannot be %s', async (_, wanted) => {
    expect(await reasonOf(() => device.apps.deploy(own, wanted))).toBe('invalid_params')
    expect(device.seen.started).toEqual([])
  })
})

describe('a member that does not exit is stopped, and its app as before', () => {
  const deploying = async () => {
    await device.apps.deploy(own, plan('shop', [service('db')]))
    device.seen.exits.clear()
    return failureOf(device.apps.deploy(own, shop()))
  }

  it('when its account leaves the device', async () => {
    const failed = deploying()
    await expect.poll(() => device.seen.running).toContain('shop-migrate r1')
    device.seen.accountId = 'b'
    await device.containers.followAccount()
    expect((await failed).message).toContain('its account left the device')
    expect([device.seen.running, device.containersIn()]).toEqual([[], { 'shop-db': 'i r1' }])
  })

  it('when its account is removed', async () => {
    const failed = deploying()
    await expect.poll(() => device.seen.running).toContain('shop-migrate r1')
    await device.containers.wipe('a', async () => {
      device.seen.accountId = 'b'
    })
    await failed
    expect([device.seen.running, device.containersIn()]).toEqual([[], {}])
  })

  it('when the runtime stops', async () => {
    const failed = deploying()
    await expect.poll(() => device.seen.running).toContain('shop-migrate r1')
    const { seen } = device
    await reopen()
    expect((await failed).message).toContain('the runtime stops')
    expect(seen.running).not.toContain('shop-migrate r1')
    await expect.poll(() => device.seen.running).toEqual(['shop-db r1'])
  })
})

describe('a power cut', () => {
  /** Services start in the background. */
  const stateIn = (container: { readonly state: string } | null) =>
    container && ['running', 'starting'].includes(container.state) ? 'wanted' : container?.state

  it('before the app serves means that it did not run; after that, that it does not run again', async () => {
    const copies: string[] = []
    const copy = async () => {
      copies.push(mkdtempSync(join(tmpdir(), 'apps-killed-')))
      cpSync(device.folder, copies.at(-1)!, { recursive: true })
    }
    device.seen.whileStarting = copy
    device.seen.aroundWrite = async (write) => {
      await copy()
      await write()
      await copy()
    }
    await device.apps.deploy(own, shop())
    const found: unknown[] = []
    for (const folder of copies) {
      const again = await openDevice(folder)
      const app = (await again.apps.list(own))[0]
      found.push(app ? app.members.map(({ container }) => stateIn(container)).join() : 'no app')
      expect(again.seen.started).not.toContain('shop-migrate')
      await again.close()
    }
    const at = found.indexOf('wanted,completed,wanted')
    expect(at).toBeGreaterThan(0)
    expect(found).toEqual([
      ...found.slice(0, at).map(() => 'no app'),
      ...found.slice(at).map(() => 'wanted,completed,wanted'),
    ])
    for (const folder of copies) rmSync(folder, { recursive: true, force: true })
  })
})
