/** An app is deployed and removed as one: a caller, a failure or a power cut finds the former app or the next one. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type AppPlan, appPlan, RpcError } from '@selvedge/protocol'
import { StoreError } from '@selvedge/service-kit/store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Device,
  neighbour,
  openDevice,
  own,
  plan,
  reasonOf,
  service,
} from '../../../../../tests/harness/app-device.ts'
import { keyOf } from '../deployments/ownership.ts'

let device: Device
beforeEach(async () => {
  device = await openDevice()
})
afterEach(() => device.close())

const web = (more = {}) => service('web', { dependsOn: [dependsOnDb], ...more })
const dependsOnDb = { service: 'db', condition: 'healthy', isRequired: true } as const
const first = plan('shop', [service('db'), web()])
/** One member changes, one is new, one is gone. */
const second = plan('shop', [service('cache'), service('web', { image: 'j' })])

const failing = (name: string) => {
  device.seen.whileStarting = async ({ key }) => {
    if (key.endsWith(`/${name}`)) throw new Error(`${name} does not start`)
  }
}
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (cause: Error) => cause,
  )

describe('a deployment', () => {
  it('starts members in the order of the plan, and has a record', async () => {
    const record = await device.apps.deploy(own, first)
    expect(device.seen.started).toEqual(['shop-db', 'shop-web'])
    expect(record).toMatchObject({ id: 'c-shop', name: 'shop', revision: 1, note: null })
    expect(
      record.members.map(({ service: name, dependsOn, container }) => [name, dependsOn, container?.id]),
    ).toEqual([
      ['db', [], 'c-shop-db'],
      ['web', ['db'], 'c-shop-web'],
    ])
    expect(await device.apps.list(own)).toEqual([record])
    expect(await device.apps.list(neighbour)).toEqual([])
  })

  it('gives members no path at the gateway unless the plan does', async () => {
    const env = { 'MCM.IDLE_SEC': '0', 'MCM.BASE_API_PATH': '/shop' }
    await device.apps.deploy(
      own,
      plan('shop', [service('db'), service('web', { isBehindGateway: true, env })]),
    )
    expect(device.containers.routes().map(({ id, prefixes }) => [id, prefixes])).toEqual([
      ['c-shop-db', []],
      ['c-shop-web', ['/c/shop']],
    ])
  })

  it('starts only what changed, and removes what the plan does not have any more with its data', async () => {
    await device.apps.deploy(own, first)
    await device.apps.deploy(own, first)
    expect(device.seen.started).toEqual(['shop-db', 'shop-web'])
    await device.apps.deploy(own, second)
    expect(device.seen.started).toEqual(['shop-db', 'shop-web', 'shop-cache', 'shop-web'])
    expect(device.containersIn()).toEqual({ 'shop-web': 'j r2', 'shop-cache': 'i r1' })
    await expect.poll(() => device.seen.running.toSorted()).toEqual(['shop-cache r1', 'shop-web r2'])
    expect(device.seen.removed).toEqual(['shop-db'])
    expect(await device.apps.get(own, 'shop')).toMatchObject({ revision: 3 })
  })

  it('starts a member again if its networks change, or the first other member comes on one', async () => {
    const on = (network: string, name: string) => service(name, { networks: [{ network, aliases: [] }] })
    const parts = { networks: ['x', 'y'].map((name) => ({ name, isInternal: false })) }
    const startedBy = async (...services: ReturnType<typeof service>[]) => {
      device.seen.started = []
      await device.apps.deploy(own, plan('shop', services, parts))
      return device.seen.started
    }
    expect(await startedBy(on('x', 'db'))).toEqual(['shop-db'])
    expect(await startedBy(on('x', 'db'), on('y', 'web'))).toEqual(['shop-web'])
    expect(await startedBy(on('x', 'db'), on('x', 'web'))).toEqual(['shop-db', 'shop-web'])
    expect(await startedBy(on('x', 'db'), on('x', 'web'), on('x', 'more'))).toEqual(['shop-more'])
  })

  it('starts a member again that was stopped or has failed', async () => {
    await device.apps.deploy(own, first)
    await device.containers.stop(own, 'shop-db')
    await device.apps.deploy(own, first)
    expect(device.seen.started).toEqual(['shop-db', 'shop-web', 'shop-db'])
  })
})

describe('a member that fails', () => {
  it('rolls the whole app back: members before it continue in their former version', async () => {
    await device.apps.deploy(own, first)
    const before = [device.containersIn(), device.seen.running.toSorted()]
    failing('shop-web')
    const failure = await failureOf(device.apps.deploy(own, second))
    expect(failure).toMatchObject({
      message: expect.stringContaining('shop-web does not start'),
      hint: expect.stringContaining('The app shop is as before: revision 1.'),
    })
    expect([device.containersIn(), device.seen.running.toSorted()]).toEqual(before)
    expect(device.seen.removed).toEqual(['shop-cache'])
    expect(await device.apps.get(own, 'shop')).toMatchObject({
      revision: 1,
      note: expect.stringContaining('shop-web does not start'),
    })
    device.seen.whileStarting = async () => undefined
    expect(await device.apps.deploy(own, second)).toMatchObject({ revision: 2, note: null })
  })

  it('is named with its reason and the last lines of its log', async () => {
    device.seen.whileStarting = async ({ key, log }) => {
      if (!key.endsWith('/shop-web')) return
      log('stderr', 'cannot open /data')
      throw new Error('it exited with code 1')
    }
    expect(await failureOf(device.apps.deploy(own, first))).toMatchObject({
      message: 'shop-web: it exited with code 1',
      hint: expect.stringContaining('Its last lines: cannot open /data'),
    })
    device.seen.whileStarting = async () => undefined
    await device.apps.deploy(own, first)
    await device.apps.stop(own, 'shop')
    device.seen.whileStarting = async ({ log }) => {
      log('stdout', 'no route')
      throw new Error('it exited with code 2')
    }
    expect(await failureOf(device.apps.start(own, 'shop'))).toMatchObject({
      message: 'shop-db: it exited with code 2',
      hint: expect.stringContaining('Its last lines: no route'),
    })
  })

  it('leaves nothing of an app that was not there before', async () => {
    failing('shop-web')
    expect(await failureOf(device.apps.deploy(own, first))).toMatchObject({
      hint: expect.stringContaining('Nothing was deployed.'),
    })
    expect([device.containersIn(), device.stored.value, device.seen.running]).toEqual([{}, {}, []])
    expect(device.seen.removed.toSorted()).toEqual(['shop-db', 'shop-web'])
  })

  it('is noticed if it exits while the others start', async () => {
    device.seen.whileStarting = async ({ key }) => {
      if (key.endsWith('shop-web')) device.seen.end.get('shop-db r1')!({ reason: 'exited', why: 'no disk' })
    }
    expect(await failureOf(device.apps.deploy(own, first))).toMatchObject({
      message: expect.stringContaining('shop-db: no disk'),
    })
    expect([device.containersIn(), device.seen.running]).toEqual([{}, []])
  })
})

describe('before anything starts', () => {
  it.each<[string, AppPlan, string]>([
    ['an image that is not there', plan('shop', [service('db'), web({ image: 'nothing' })]), 'not_found'],
    [
      'two members with one path',
      plan('shop', [
        service('one', { isBehindGateway: true, env: { 'MCM.BASE_API_PATH': '/x' } }),
        service('two', { isBehindGateway: true, env: { 'MCM.BASE_API_PATH': '/x' } }),
      ]),
      'invalid_params',
    ],
    [
      'two members with one port',
      plan('shop', [
        service('one', { env: { 'MCM.PORTS': '18830:1883/tcp' } }),
        service('two', { env: { 'MCM.PORTS': '18830:1883/tcp' } }),
      ]),
      'invalid_params',
    ],
    ['a member of another app', plan('a-b', [service('c')]), 'conflict'],
    ['a single container', plan('single', [service('web')]), 'conflict'],
  ])('it refuses %s', async (_, wanted, reason) => {
    await device.apps.deploy(own, plan('a', [service('b-c')]))
    await device.containers.deploy(own, { name: 'single-web', image: 'i', env: {} })
    const before = [device.containersIn(), device.stored.value]
    device.seen.started = []
    device.seen.aroundWrite = () => Promise.reject(new Error('nothing is written'))
    expect(await reasonOf(() => device.apps.deploy(own, wanted))).toBe(reason)
    expect([device.containersIn(), device.stored.value]).toEqual(before)
    expect(device.seen.started).toEqual([])
  })

  it('lets a member have the path that another one gives up in the same deployment', async () => {
    const env = { 'MCM.IDLE_SEC': '0', 'MCM.BASE_API_PATH': '/x' }
    await device.apps.deploy(own, plan('shop', [service('one', { isBehindGateway: true, env })]))
    await device.apps.deploy(
      own,
      plan('shop', [service('two', { isBehindGateway: true, env }), service('one')]),
    )
    expect(device.containers.routes().find(({ id }) => id === 'c-shop-two')?.prefixes).toEqual(['/c/x'])
  })
})

describe('the containers of an app', () => {
  it('are not changed one by one', async () => {
    await device.apps.deploy(own, first)
    const spec = { name: 'shop-web', image: 'j', env: {} }
    for (const work of [
      () => device.containers.deploy(own, spec),
      () => device.containers.remove(own, 'shop-web'),
      () => device.containers.remove(own, 'c-shop-web'),
    ])
      expect(await reasonOf(work)).toBe('conflict')
    expect(device.containersIn()).toEqual({ 'shop-db': 'i r1', 'shop-web': 'i r1' })
    await device.containers.deploy(neighbour, spec)
    expect(device.stored.value[keyOf(neighbour, 'shop')]).toBeUndefined()
  })

  it('are of one app, also if two apps with a common name are deployed at once', async () => {
    const wanted = [plan('a', [service('b-c')]), plan('a-b', [service('c')])]
    const reasons = await Promise.all(wanted.map((each) => reasonOf(() => device.apps.deploy(own, each))))
    expect(reasons.toSorted()).toEqual(['accepted', 'conflict'])
    expect([Object.keys(device.stored.value).length, device.containersIn()]).toEqual([1, { 'a-b-c': 'i r1' }])
  })
})

describe('files of an app', () => {
  const using = (content: string, more = {}) =>
    plan(
      'shop',
      [
        service('web', {
          configs: [{ config: 'site', target: '/etc/site.conf', mode: '0444', uid: 0, gid: 0 }],
          ...more,
        }),
        service('db'),
      ],
      { configs: [{ name: 'site', content }] },
    )
  /** What members got when they started. */
  let got: string[]
  beforeEach(() => {
    got = []
    device.seen.whileStarting = async ({ key, configs = [] }) =>
      void got.push(...configs.map(({ target, read }) => `${key.split('/').at(-1)} ${target} ${read()}`))
  })
  /** Contents that are stored. */
  const stored = () => {
    const folder = join(device.folder, 'configs')
    if (!existsSync(folder)) return []
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((each) => each.includes('/'))
      .map((each) => readFileSync(join(folder, each), 'utf8'))
      .toSorted()
  }

  it('are there when a member starts, and a changed file starts its members again', async () => {
    await device.apps.deploy(own, using('one'))
    await device.apps.deploy(own, using('one'))
    expect([got, device.seen.started]).toEqual([['shop-web /etc/site.conf one'], ['shop-web', 'shop-db']])
    await device.apps.deploy(own, using('two'))
    expect(device.seen.started).toEqual(['shop-web', 'shop-db', 'shop-web'])
    expect([got.at(-1), stored()]).toEqual(['shop-web /etc/site.conf two', ['one', 'two']])
    await device.apps.deploy(own, using('three'))
    expect(stored()).toEqual(['three', 'two'])
  })

  it('may be bytes that are not text, in base64', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xfe])
    const files: Buffer[] = []
    device.seen.whileStarting = async ({ configs = [] }) =>
      void files.push(...configs.map(({ read }) => read()))
    const configs = [{ name: 'site', content: bytes.toString('base64'), encoding: 'base64' as const }]
    await device.apps.deploy(own, { ...using(''), configs })
    expect(files).toEqual([bytes])
    const text = [{ name: 'site', content: bytes.toString('base64'), encoding: 'text' as const }]
    await device.apps.deploy(own, { ...using(''), configs: text })
    expect(files.at(-1)!.toString()).toBe('/wD+')
  })

  it('of a deployment that fails are removed, and the former version keeps its own', async () => {
    await device.apps.deploy(own, using('one'))
    failing('shop-web')
    await failureOf(device.apps.deploy(own, using('two')))
    expect(stored()).toEqual(['one'])
    failing('other-web')
    await failureOf(device.apps.deploy(own, { ...using('three'), name: 'other' }))
    await failureOf(device.apps.deploy(own, { ...using('four', { image: 'nothing' }), name: 'more' }))
    expect(stored()).toEqual(['one'])
  })

  it('are those of the version that serves after a restart of the runtime', async () => {
    await device.apps.deploy(own, using('one'))
    await device.close(false)
    device = await openDevice(device.folder)
    device.seen.whileStarting = async ({ configs = [] }) =>
      void got.push(...configs.map(({ read }) => `${read()}`))
    await device.containers.stop(own, 'shop-web')
    await device.containers.start(own, 'shop-web')
    expect(got.at(-1)).toBe('one')
    expect(stored()).toEqual(['one'])
  })

  it('of a deployment that a power cut interrupted are removed at the next start', async () => {
    await device.apps.deploy(own, using('one'))
    const copy = mkdtempSync(join(tmpdir(), 'apps-'))
    device.seen.whileStarting = async ({ key }) => {
      if (!key.endsWith('/shop-web')) return
      await device.stored.settled()
      cpSync(device.folder, copy, { recursive: true })
    }
    await device.apps.deploy(own, using('two'))
    await device.close()
    device = await openDevice(copy)
    expect(stored()).toEqual(['one'])
  })

  it('are removed with the app, and with its account', async () => {
    await device.apps.deploy(own, using('one'))
    await device.apps.deploy(own, { ...using('two'), name: 'other' })
    await device.apps.remove(own, 'shop')
    expect(stored()).toEqual(['two'])
    await device.apps.forget('a')
    expect(stored()).toEqual([])
  })

  it('that are damaged stop a start, and are written again by a deployment', async () => {
    await device.apps.deploy(own, using('one'))
    const folder = join(device.folder, 'configs')
    const [path] = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) =>
      each.includes('/'),
    )
    writeFileSync(join(folder, path!), 'other')
    await device.containers.stop(own, 'shop-web')
    expect(await reasonOf(() => device.containers.start(own, 'shop-web'))).toBe('container_failed')
    await device.apps.deploy(own, using('one'))
    expect(stored()).toEqual(['one'])
  })

  it('are not possible for functions, and not for single containers', async () => {
    expect(await reasonOf(() => device.apps.deploy(own, using('one', { image: 'f' })))).toBe('invalid_params')
    expect(stored()).toEqual([])
    const env = { 'MCM.CONFIGS': `${'0'.repeat(64)}:/x:0444:0:0` }
    expect(await reasonOf(() => device.containers.deploy(own, { name: 'x', image: 'i', env }))).toBe(
      'invalid_params',
    )
  })
})

describe('volumes that members share', () => {
  const files = { volume: 'files', target: '/files', isReadOnly: false }
  const key = 'shop/volumes'
  const sharing = (...names: readonly string[]) =>
    plan(
      'shop',
      names.map((each) => service(each, { volumes: [files] })),
      { volumes: [{ name: 'files' }] },
    )
  const sharedBy = (name: string) =>
    device.deployments.value.containers[keyOf(own, `shop-${name}`)]?.env['MCM.APP_VOLUMES']

  it('stay when the app is redeployed and when one member is left, and are removed with the app', async () => {
    await device.apps.deploy(own, sharing('web', 'cron'))
    await device.apps.deploy(own, sharing('web'))
    expect(sharedBy('web')).toBe('shop/files:/files')
    await device.apps.deploy(own, sharing('web', 'cron', 'third'))
    expect(device.seen.removed).not.toContain(key)
    await device.apps.remove(own, 'shop')
    expect(device.seen.removed).toContain(key)
    expect(device.deployments.value.leaving).toEqual({})
  })

  it('stay when no member has them for a while', async () => {
    await device.apps.deploy(own, sharing('web', 'cron'))
    await device.apps.deploy(own, plan('shop', [service('web')]))
    expect(sharedBy('web')).toBeUndefined()
    await device.apps.deploy(own, sharing('web'))
    expect(sharedBy('web')).toBe('shop/files:/files')
    await device.apps.remove(own, 'shop')
    expect(device.seen.removed).toContain(key)
  })

  it('stay when a later deployment fails, and are removed when the first one does', async () => {
    device.seen.whileStarting = async ({ id }) => {
      if (id === 'c-shop-cron') throw new RpcError('container_failed', 'it is broken')
    }
    expect(await reasonOf(() => device.apps.deploy(own, sharing('web', 'cron')))).toBe('container_failed')
    expect(device.seen.removed).toContain(key)
    device.seen.removed.length = 0
    await device.apps.deploy(own, sharing('web', 'other'))
    expect(await reasonOf(() => device.apps.deploy(own, sharing('web', 'cron')))).toBe('container_failed')
    expect(device.seen.removed).not.toContain(key)
  })

  it('are removed with the account, also if no member has them any more', async () => {
    await device.apps.deploy(own, sharing('web', 'cron'))
    await device.apps.deploy(own, plan('shop', [service('web')]))
    await device.containers.wipe('a', async () => undefined)
    expect(device.seen.removed).toContain(key)
  })

  it('are removed later if the engine does not answer, but not once the app is there again', async () => {
    await device.apps.deploy(own, sharing('web', 'cron'))
    device.seen.whileRemoving = async () => {
      throw new RpcError('engine_unavailable', 'it does not answer')
    }
    expect(await reasonOf(() => device.apps.remove(own, 'shop'))).toBe('engine_unavailable')
    expect(device.deployments.value.leaving).toMatchObject({ [`a/c/${key}`]: 'oci' })
    await device.apps.deploy(own, sharing('web', 'cron'))
    expect(device.deployments.value.leaving).toEqual({})
  })

  it('are not possible for functions, and not for single containers', async () => {
    const withFunction = plan(
      'shop',
      [service('web', { volumes: [files], image: 'f' }), service('cron', { volumes: [files] })],
      { volumes: [{ name: 'files' }] },
    )
    expect(await reasonOf(() => device.apps.deploy(own, withFunction))).toBe('invalid_params')
    const env = { 'MCM.APP_VOLUMES': 'shop/files:/files' }
    expect(await reasonOf(() => device.containers.deploy(own, { name: 'x', image: 'i', env }))).toBe(
      'invalid_params',
    )
  })
})

describe('values of secrets', () => {
  const password = { name: 'password', from: 'environment', variable: 'X' } as const
  const using = (more = {}) =>
    plan('shop', [service('db', { secrets: [{ secret: 'password', file: 'password' }], ...more })], {
      secrets: [password],
    })
  const valueAs = (text: string) => [{ name: 'password', value: Buffer.from(text).toString('base64') }]
  /** Stored secrets of the project, with their values. */
  const stored = () =>
    device.secrets.list(own).map(({ name }) => {
      const [secret] = device.secrets.open({ accountId: 'a', clientId: 'c' }, [{ name, file: undefined }])
      return [name.replace(/[0-9a-f]{12}$/, 'version'), secret!.value.toString()]
    })

  it('are stored under a name of their own, and removed with the last release that has them', async () => {
    await device.apps.deploy(own, using(), valueAs('one'))
    expect(stored()).toEqual([['shop.password.version', 'one']])
    expect(device.seen.started).toEqual(['shop-db'])
    await device.apps.deploy(own, using(), valueAs('one'))
    expect(device.seen.started).toEqual(['shop-db'])
    await device.apps.deploy(own, using(), valueAs('two'))
    expect(device.seen.started).toEqual(['shop-db', 'shop-db'])
    expect(stored().toSorted()).toEqual([
      ['shop.password.version', 'one'],
      ['shop.password.version', 'two'],
    ])
    await device.apps.deploy(own, using({ image: 'j' }))
    expect(stored()).toEqual([['shop.password.version', 'two']])
    await device.apps.deploy(own, using({ image: 'j' }), valueAs('three'))
    await device.apps.remove(own, 'shop')
    expect(stored()).toEqual([])
  })

  it('of a deployment that fails are removed, and the former release keeps its own', async () => {
    failing('shop-db')
    await failureOf(device.apps.deploy(own, using(), valueAs('none')))
    expect(stored()).toEqual([])
    device.seen.whileStarting = async () => undefined
    await device.apps.deploy(own, using(), valueAs('one'))
    failing('shop-db')
    await failureOf(device.apps.deploy(own, using(), valueAs('two')))
    expect(stored()).toEqual([['shop.password.version', 'one']])
    device.seen.missingForNames = 'no names'
    expect(await reasonOf(() => device.apps.deploy(own, using({ image: 'nothing' }), valueAs('two')))).toBe(
      'not_found',
    )
    expect(stored()).toEqual([['shop.password.version', 'one']])
  })

  it('that the owner set before are those of the app, and stay if a deployment fails', async () => {
    await device.secrets.set(own, 'shop.password', Buffer.from('own'))
    failing('shop-db')
    await failureOf(device.apps.deploy(own, using()))
    expect(stored()).toEqual([['shop.password', 'own']])
    device.seen.whileStarting = async () => undefined
    await device.apps.deploy(own, using())
    expect(stored()).toEqual([['shop.password', 'own']])
  })

  it('of another secret than those of the plan are refused', async () => {
    expect(
      await reasonOf(() => device.apps.deploy(own, using(), [{ name: 'password', value: 'x===' }])),
    ).toBe('invalid_params')
    for (const name of ['other', '__proto__', 'constructor'])
      expect(await reasonOf(() => device.apps.deploy(own, using(), [{ name, value: 'eA==' }]))).toBe(
        'invalid_params',
      )
    expect(stored()).toEqual([])
  })

  it('that a killed runtime left are removed at its next start', async () => {
    await device.apps.deploy(own, using(), valueAs('one'))
    const folder = mkdtempSync(join(tmpdir(), 'apps-killed-'))
    device.seen.whileStarting = async () => cpSync(device.folder, folder, { recursive: true })
    await device.apps.deploy(own, using(), valueAs('two'))
    await device.close()
    device = await openDevice(folder)
    expect(stored()).toEqual([['shop.password.version', 'one']])
  })
})

describe('at the next start of a killed runtime', () => {
  /** The device as a power cut leaves it at the moment of a call. */
  const cut = async (during: (copy: () => void) => Promise<unknown>) => {
    const folder = mkdtempSync(join(tmpdir(), 'apps-killed-'))
    await during(() => cpSync(device.folder, folder, { recursive: true }))
    await device.close()
    device = await openDevice(folder)
  }
  const using = plan('shop', [service('db', { secrets: [{ secret: 'password', file: 'password' }] })], {
    secrets: [{ name: 'password', from: 'environment', variable: 'X' }],
  })
  const values = [{ name: 'password', value: 'b25l' }]
  const names = () => device.secrets.list(own).map(({ name }) => name)

  it('values that were stored before the deployment was written down are removed', async () => {
    await cut(async (copy) => {
      let isCopied = false
      device.seen.aroundWrite = (write) => {
        if (!isCopied) copy()
        isCopied = true
        return write()
      }
      await device.apps.deploy(own, using, values)
    })
    expect([device.stored.value, names()]).toEqual([{}, []])
    expect(device.removedSecrets).toEqual([expect.stringMatching(/^shop\.password\.[0-9a-f]{12}$/)])
  })

  it('secrets that the owner set stay, whatever their names', async () => {
    const set = ['shop.password', 'shop.password.0123456789ab', 'x.0123456789ab']
    for (const name of set) await device.secrets.set(own, name, Buffer.from('own'))
    await cut(async (copy) => {
      device.seen.whileStarting = async () => copy()
      await device.apps.deploy(own, using)
    })
    expect([device.stored.value, names(), device.removedSecrets]).toEqual([{}, set, []])
  })

  it('values of containers stay if the record of their app is lost', async () => {
    await device.apps.deploy(own, using, values)
    await device.stored.update(() => ({}))
    await cut(async (copy) => copy())
    expect([names(), device.removedSecrets]).toEqual([[expect.stringContaining('shop.password.')], []])
    await expect.poll(() => device.seen.running).toEqual(['shop-db r1'])
  })

  it('a value that a new deployment has again stays', async () => {
    const unused = { ...using, services: [service('db')] }
    await device.apps.deploy(own, unused, values)
    const left = names().map((name) => ({ owner: own, name }))
    await device.apps.dropSecrets([...left, { owner: own, name: 'nothing.x' }])
    expect(names()).toHaveLength(1)
    await device.apps.remove(own, 'shop')
    let dropped: Promise<void> | undefined
    device.seen.whileStarting = async () => {
      dropped = device.apps.dropSecrets(left)
    }
    await device.apps.deploy(own, using, values)
    await dropped
    expect(names()).toHaveLength(1)
  })
})

describe('a stop and a start', () => {
  const statesOf = async () =>
    (await device.apps.get(own, 'shop')).members.map(({ container }) => container?.state)
  const wanted = () => Object.values(device.deployments.value.containers).map((each) => each.wanted)

  it('change all members, the stop in reverse order', async () => {
    await device.apps.deploy(own, first)
    const stopped = await device.apps.stop(own, 'shop')
    expect(stopped.members.map(({ container }) => container?.state)).toEqual(['stopped', 'stopped'])
    expect(device.seen.stopped).toEqual(['shop-web', 'shop-db'])
    device.seen.started = []
    const started = await device.apps.start(own, 'shop')
    expect(started.members.map(({ container }) => container?.state)).toEqual(['running', 'running'])
    expect(device.seen.started).toEqual(['shop-db', 'shop-web'])
    expect([started.revision, device.containersIn()]).toEqual([1, { 'shop-db': 'i r1', 'shop-web': 'i r1' }])
  })

  it('leave what is stopped or runs already', async () => {
    await device.apps.deploy(own, first)
    await device.containers.stop(own, 'shop-db')
    device.seen.started = []
    await device.apps.start(own, 'shop')
    expect(device.seen.started).toEqual(['shop-db'])
    await device.apps.start(own, 'shop')
    expect(device.seen.started).toEqual(['shop-db'])
    await device.apps.stop(own, 'shop')
    await device.apps.stop(own, 'shop')
    expect(await statesOf()).toEqual(['stopped', 'stopped'])
  })

  it('last after a restart of the runtime', async () => {
    await device.apps.deploy(own, first)
    await device.apps.stop(own, 'shop')
    await device.close(false)
    device = await openDevice(device.folder)
    expect([await statesOf(), device.seen.started]).toEqual([['stopped', 'stopped'], []])
    await device.apps.start(own, 'shop')
    await device.close(false)
    device = await openDevice(device.folder)
    await expect.poll(() => device.seen.running.toSorted()).toEqual(['shop-db r1', 'shop-web r1'])
  })

  it('start nothing if one member fails, and name it', async () => {
    await device.apps.deploy(own, first)
    await device.apps.stop(own, 'shop')
    failing('shop-web')
    expect(await failureOf(device.apps.start(own, 'shop'))).toMatchObject({
      message: expect.stringContaining('shop-web: shop-web does not start'),
    })
    expect([device.seen.running, wanted()]).toEqual([[], ['stopped', 'stopped']])
  })

  it('stop nothing on a full disk', async () => {
    await device.apps.deploy(own, first)
    device.seen.aroundWrite = () => Promise.reject(new StoreError('no space left on device'))
    expect(await failureOf(device.apps.stop(own, 'shop'))).toBeInstanceOf(StoreError)
    expect([device.seen.running.length, wanted()]).toEqual([2, ['running', 'running']])
  })

  it('wait for the deployment that is under way', async () => {
    const stopped = Promise.withResolvers<unknown>()
    device.seen.whileStarting = async ({ key }) => {
      if (key.endsWith('shop-web')) stopped.resolve(device.apps.stop(own, 'shop').then(() => 'stopped'))
    }
    await device.apps.deploy(own, first)
    expect(await stopped.promise).toBe('stopped')
    expect(device.seen.running).toEqual([])
  })

  it('are not for another project, and reach no container with a similar name', async () => {
    await device.apps.deploy(own, first)
    await device.apps.deploy(neighbour, first)
    await device.apps.deploy(own, plan('shop-db', [service('x')]))
    await device.containers.deploy(own, { name: 'shop', image: 'i', env: { 'MCM.IDLE_SEC': '0' } })
    for (const name of ['c-shop', 'shop-web', 'nothing', '__proto__', 'constructor'])
      for (const work of [() => device.apps.stop(neighbour, name), () => device.apps.start(neighbour, name)])
        expect(await reasonOf(work)).toBe('not_found')
    device.seen.stopped = []
    await device.apps.stop(own, 'shop')
    expect(device.seen.stopped).toEqual(['shop-web', 'shop-db'])
    expect(device.seen.running).toHaveLength(4)
  })

  it('are not for an account that left', async () => {
    await device.apps.deploy(own, first)
    await device.apps.stop(own, 'shop')
    device.seen.accountId = 'b'
    expect(await reasonOf(() => device.apps.start(own, 'shop'))).toBe('wrong_account')
    expect(device.seen.running).toEqual([])
  })
})

describe('a removal', () => {
  it('stops members in reverse order, and removes their data and the secrets of the app', async () => {
    const secrets = [{ name: 'password', from: 'environment', variable: 'X' } as const]
    await device.secrets.set(own, 'shop.password', Buffer.from('x'))
    await device.apps.deploy(own, { ...first, secrets })
    expect(await device.apps.remove(own, 'shop')).toEqual({ name: 'shop' })
    expect(device.seen.stopped).toEqual(['shop-web', 'shop-db'])
    expect(device.seen.removed.toSorted()).toEqual(['shop-db', 'shop-web'])
    expect(device.removedSecrets).toEqual(['shop.password'])
    expect([device.containersIn(), device.stored.value]).toEqual([{}, {}])
    expect(await reasonOf(() => device.apps.remove(own, 'shop'))).toBe('not_found')
  })

  it('is not for another project', async () => {
    await device.apps.deploy(own, first)
    for (const name of ['shop', 'c-shop', '__proto__', 'constructor'])
      expect(await reasonOf(() => device.apps.remove(neighbour, name))).toBe('not_found')
    expect(device.seen.stopped).toEqual([])
  })

  it('waits for the deployment that is under way', async () => {
    const removed = Promise.withResolvers<unknown>()
    device.seen.whileStarting = async ({ key }) => {
      if (key.endsWith('shop-web')) removed.resolve(device.apps.remove(own, 'shop').then(() => 'removed'))
    }
    await device.apps.deploy(own, first)
    expect(await removed.promise).toBe('removed')
    expect([device.containersIn(), device.stored.value, device.seen.running]).toEqual([{}, {}, []])
  })
})

it('an account that leaves during a deployment has no app, and nothing of it runs', async () => {
  device.seen.whileStarting = async ({ key }) => {
    if (key.endsWith('shop-web')) device.seen.accountId = 'b'
  }
  expect(await reasonOf(() => device.apps.deploy(own, first))).toBe('wrong_account')
  expect([device.containersIn(), device.stored.value, device.seen.running]).toEqual([{}, {}, []])
})

it('forgets the apps of an account, and of no other one', async () => {
  await device.apps.deploy(own, first)
  await device.apps.forget('')
  await device.apps.forget('ab')
  expect(Object.keys(device.stored.value)).toHaveLength(1)
  await device.apps.forget('a')
  expect(device.stored.value).toEqual({})
})

it('a plan of 64 members is deployed and removed', async () => {
  const many = plan(
    'many',
    Array.from({ length: 64 }, (_, at) => service(`s${at}`)),
  )
  expect(appPlan.safeParse(many).success).toBe(true)
  expect((await device.apps.deploy(own, many)).members).toHaveLength(64)
  await device.apps.remove(own, 'many')
  expect(device.containersIn()).toEqual({})
})

/** What a start of the runtime makes of the state at some moment. */
async function stateAfterStart(folder: string) {
  const again = await openDevice(folder)
  const [app] = Object.values(again.stored.value)
  const found = {
    containers: again.containersIn(),
    members: app?.current?.members.map((each) => each.service) ?? [],
    revision: app?.current?.revision,
    isSettled: !app?.next,
  }
  await again.close()
  return found
}

const settled = (containers: object, revision?: number, members: string[] = []) => ({
  ...{ containers, members, revision, isSettled: true },
})
const formerApp = settled({ 'shop-db': 'i r1', 'shop-web': 'i r1' }, 1, ['db', 'web'])
const nextApp = settled({ 'shop-cache': 'i r1', 'shop-web': 'j r2' }, 2, ['cache', 'web'])
const changedApp = settled({ 'shop-db': 'i r1', 'shop-web': 'j r2' }, 2, ['db', 'web'])
const noApp = settled({})
/** One member changes. */
const changed = plan('shop', [service('db'), web({ image: 'j' })])

describe('a runtime that is killed', () => {
  let copies: string[]
  const copy = () => {
    const to = mkdtempSync(join(tmpdir(), 'apps-killed-'))
    cpSync(device.folder, to, { recursive: true })
    copies.push(to)
  }
  beforeEach(() => {
    copies = []
  })
  /** Copies the state before and after each write, and while members start: what is there if the runtime is killed then. */
  const copying = () => {
    device.seen.whileStarting = async () => copy()
    device.seen.aroundWrite = async (write) => {
      copy()
      await write()
      copy()
    }
  }
  const statesAfterStart = async () => {
    const states: unknown[] = []
    for (const each of copies) states.push(await stateAfterStart(each))
    return states
  }

  it.each<[string, AppPlan | undefined, (at: Device) => Promise<unknown>, object, object]>([
    ['at the first deployment', undefined, (at) => at.apps.deploy(own, first), noApp, formerApp],
    ['at a redeployment', first, (at) => at.apps.deploy(own, second), formerApp, nextApp],
    ['at a change of one member', first, (at) => at.apps.deploy(own, changed), formerApp, changedApp],
    ['at a removal', first, (at) => at.apps.remove(own, 'shop'), formerApp, noApp],
  ])('%s has the former app or the next one at its next start', async (_, before, work, former, next) => {
    if (before) await device.apps.deploy(own, before)
    copying()
    await work(device)
    const states = await statesAfterStart()
    const changedAt = states.findIndex((state) => isDeepStrictEqual(state, next))
    expect(changedAt).toBeGreaterThan(0)
    expect(states.slice(0, changedAt)).toEqual(states.slice(0, changedAt).map(() => former))
    expect(states.slice(changedAt)).toEqual(states.slice(changedAt).map(() => next))
  })
})

describe('a full disk', () => {
  /** Fails one write of a deployment. @returns whether it came so far */
  async function failWrite(at: number, work: () => Promise<unknown>): Promise<boolean> {
    let count = 0
    device.seen.aroundWrite = (write) =>
      count++ === at ? Promise.reject(new StoreError('no space left on device')) : write()
    await work().catch((cause) => {
      if (!(cause instanceof StoreError)) throw cause
    })
    device.seen.aroundWrite = (write) => write()
    return count > at
  }

  it('at any write leaves the former app or the next one, which run', async () => {
    let writes = 0
    for (let isReached = true; isReached; writes++) {
      await device.apps.deploy(own, first)
      isReached = await failWrite(writes, () => device.apps.deploy(own, second))
      const isNext = 'shop-cache' in device.containersIn()
      const { members } = await device.apps.get(own, 'shop')
      expect(members.map(({ service: name, container }) => [name, container?.state])).toEqual(
        (isNext ? ['cache', 'web'] : ['db', 'web']).map((name) => [name, 'running']),
      )
      expect(Object.keys(device.containersIn())).toHaveLength(2)
      expect(Object.values(device.stored.value)[0]?.next).toBe(null)
      await device.apps.remove(own, 'shop')
    }
    expect(writes).toBeGreaterThan(3)
  })
})

it('a record that is lost leaves single containers, which their owner removes', async () => {
  await device.apps.deploy(own, first)
  await device.stored.update(() => ({}))
  expect(await reasonOf(() => device.apps.deploy(own, first))).toBe('conflict')
  await device.containers.remove(own, 'shop-db')
  await device.containers.remove(own, 'shop-web')
  expect(await reasonOf(() => device.apps.deploy(own, first))).toBe('accepted')
})

it('an app shows a member that is not there', async () => {
  await device.apps.deploy(own, first)
  await device.deployments.update((value) => ({ ...value, containers: {} }))
  expect((await device.apps.get(own, 'shop')).members.map(({ container }) => container)).toEqual([null, null])
})
