/** Each member of an app is shown while the app is deployed, and a caller that lost its connection gets the result of its deployment. */
import { RpcError } from '@selvedge/protocol'
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

let device: Device
beforeEach(async () => {
  device = await openDevice()
})
afterEach(() => device.close())

const after = (name: string, condition: 'healthy' | 'completed' = 'healthy') => ({
  dependsOn: [{ service: name, condition, isRequired: true }],
})
const shop = (more = {}) =>
  plan('shop', [
    service('db'),
    service('task', { ...after('db'), restart: 'no' }),
    service('web', { ...after('task', 'completed'), ...more }),
  ])

/** `service: state` of each member, with what it waits for. */
const shown = () =>
  device.apps
    .deployments(own)
    .slice(-1)
    .flatMap(({ members }) => members)
    .map(({ service: name, state, waitingFor, why }) =>
      [`${name}: ${state}`, ...waitingFor, ...(why === null ? [] : [why])].join(' '),
    )
/** All that was shown, each picture once. */
const pictures = () => {
  const all: string[][] = []
  device.seen.onProgress = () => {
    const now = shown()
    if (JSON.stringify(now) !== JSON.stringify(all.at(-1))) all.push(now)
  }
  return all
}
const completing = () =>
  device.seen.exits.set('shop-task', () => ({ reason: 'exited', why: 'it exited', exitCode: 0 }))
const failing = (name: string) => {
  device.seen.whileStarting = async ({ key }) => {
    if (key.endsWith(`/${name}`)) throw new RpcError('container_failed', 'no disk\n\u001b[2Jfound')
  }
}

describe('a deployment', () => {
  it('shows what each member does, and what it waits for', async () => {
    completing()
    const all = pictures()
    await device.apps.deploy(own, shop())
    expect(all).toEqual([
      ['db: waiting', 'task: waiting db', 'web: waiting task'],
      ['db: starting', 'task: waiting db', 'web: waiting task'],
      ['db: healthy', 'task: waiting', 'web: waiting task'],
      ['db: healthy', 'task: starting', 'web: waiting task'],
      ['db: healthy', 'task: completed', 'web: waiting'],
      ['db: healthy', 'task: completed', 'web: starting'],
      ['db: healthy', 'task: completed', 'web: healthy'],
    ])
    expect(device.apps.deployments(own)).toMatchObject([
      { app: 'shop', deployment: '', state: 'deployed', why: null },
    ])
    expect(device.apps.deployments(neighbour)).toEqual([])
  })

  it('shows members that continue', async () => {
    completing()
    await device.apps.deploy(own, shop())
    await device.apps.deploy(own, shop({ image: 'j' }))
    expect(shown()).toEqual(['db: unchanged', 'task: unchanged', 'web: healthy'])
  })

  it('shows which member failed and why, on one line', async () => {
    failing('shop-web')
    completing()
    await reasonOf(() => device.apps.deploy(own, shop()))
    expect(device.apps.deployments(own)).toMatchObject([
      { state: 'failed', why: expect.stringContaining('shop-web: no disk') },
    ])
    const [db, task, web] = shown()
    expect([db, task]).toEqual(['db: stopped', 'task: completed'])
    expect(web).toMatch(/^web: failed no disk.+found$/)
  })

  it('shows a member that exits while the others start', async () => {
    device.seen.whileStarting = async ({ key }) => {
      if (key.endsWith('shop-web')) device.seen.end.get('shop-db r1')!({ reason: 'exited', why: 'no disk' })
    }
    completing()
    await reasonOf(() => device.apps.deploy(own, shop()))
    expect(shown()).toEqual(['db: failed no disk', 'task: completed', 'web: stopped'])
  })

  it('shows one that was refused before anything started', async () => {
    await reasonOf(() => device.apps.deploy(own, shop({ image: 'nothing' })))
    expect(shown()).toEqual(['db: waiting', 'task: waiting db', 'web: waiting task'])
    expect(device.apps.deployments(own)).toMatchObject([
      { state: 'failed', why: expect.stringContaining('nothing') },
    ])
  })
})

describe('images', () => {
  const pulls = [{ source: 'example/i:1', name: 'i' }]

  it('are pulled before, and shown for the members that need them', async () => {
    const pulled: unknown[] = []
    device.seen.pull = async (owner, source, name) => {
      device.seen.pulls = [
        { source: 'example/other:1', receivedBytes: 1, totalBytes: 2 },
        { source, receivedBytes: 10, totalBytes: 40, bytesPerSecond: 5 },
      ]
      pulled.push(owner, source, name, device.seen.started.length, shown())
      pulled.push(device.apps.deployments(own)[0]!.members[0]!.pull)
      return {} as never
    }
    await device.apps.deploy(own, plan('shop', [service('db'), service('web', { image: 'j' })]), [], {
      pulls,
    })
    expect(pulled).toEqual([
      own,
      'example/i:1',
      { name: 'i', now: undefined },
      0,
      ['db: pulling', 'web: waiting'],
      { source: 'example/i:1', receivedBytes: 10, totalBytes: 40, bytesPerSecond: 5 },
    ])
    expect(device.apps.deployments(own)[0]!.members[0]).toMatchObject({ state: 'healthy', pull: null })
  })

  it('that do not arrive leave the app as it is', async () => {
    expect(await reasonOf(() => device.apps.deploy(own, plan('shop', [service('db')]), [], { pulls }))).toBe(
      'registry_unavailable',
    )
    expect([device.seen.started, shown()]).toEqual([[], ['db: stopped']])
  })
})

describe('a call with the ID of a deployment', () => {
  const deploy = (deployment: string, of = own) =>
    device.apps.deploy(of, plan('shop', [service('db')]), [], { deployment })

  it('joins it while it is under way, and gets its result later', async () => {
    const arrived = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    device.seen.whileStarting = async () => {
      arrived.resolve()
      await goOn.promise
    }
    const first = deploy('one-of-mine')
    await arrived.promise
    const second = deploy('one-of-mine')
    goOn.resolve()
    const record = await first
    expect(await second).toEqual(record)
    expect(await deploy('one-of-mine')).toEqual(record)
    expect([device.seen.started, record.revision]).toEqual([['shop-db'], 1])
    expect(device.apps.deployments(own)).toMatchObject([{ deployment: 'one-of-mine' }])
  })

  it('gets its failure', async () => {
    failing('shop-db')
    expect(await reasonOf(() => deploy('one-of-mine'))).toBe('container_failed')
    expect(await reasonOf(() => deploy('one-of-mine'))).toBe('container_failed')
    expect(device.seen.started).toEqual(['shop-db'])
  })

  it('joins it also after another deployment of the app', async () => {
    const first = deploy('one-of-mine')
    const second = deploy('another-one')
    expect((await deploy('one-of-mine')).revision).toBe((await first).revision)
    expect((await second).revision).toBe(2)
    expect((await deploy('one-of-mine')).revision).toBe(1)
  })

  it('of another project or another ID is a deployment of its own', async () => {
    await deploy('one-of-mine')
    expect((await deploy('another-one')).revision).toBe(2)
    expect((await deploy('another-one', neighbour)).clientId).toBe('d')
  })
})

describe('what is shown', () => {
  it('is limited for a project, those under way come first, and it is removed with the account', async () => {
    const goOn = Promise.withResolvers<void>()
    device.seen.whileStarting = ({ key }) => (key.endsWith('/long-db') ? goOn.promise : Promise.resolve())
    const long = device.apps.deploy(own, plan('long', [service('db')]))
    for (let at = 0; at < 20; at++) await device.apps.deploy(own, plan(`a${at}`, [service('db')]))
    const names = device.apps.deployments(own).map(({ app }) => app)
    expect([names.length, names.includes('long'), names.includes('a19'), names.includes('a0')]).toEqual([
      16,
      true,
      true,
      false,
    ])
    goOn.resolve()
    await long
    await device.apps.forget('a')
    expect(device.apps.deployments(own)).toEqual([])
  })
})
