/**
 * Containers belong to an account and one of its clients: another owner does not find them, and they do not run for another
 * account, also if the device changes hands while a change is under way.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { openDocument } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ContentInUse, createContentInUse } from '../deployments/content-in-use.ts'
import { type DeploymentStore, deploymentsFormat, withoutUnused } from '../deployments/deployments.ts'
import { type HeldPathStore, openHeldPaths } from '../deployments/held-paths.ts'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import type { Ending, Engine, Instance, Plan } from '../engines/engine.ts'
import { readGrantedPorts } from '../grants/network-grants.ts'
import { createPorts } from '../ports/ports.ts'
import { type Containers, createContainers } from './containers.ts'

const own: Owner = { account_id: 'a', client_id: 'c' }
const others: Readonly<Record<string, Owner>> = {
  'another account with the same client': { account_id: 'b', client_id: 'c' },
  'another client of the account': { account_id: 'a', client_id: 'd' },
  'an account with an ID that begins alike': { account_id: 'a/c', client_id: '' },
  'a client with an ID that begins alike': { account_id: 'a', client_id: 'c-web' },
}
const digest = `sha256:${'0'.repeat(64)}`
const content = {
  kind: 'function' as const,
  config: { digest, size: 1 },
  layers: [],
  entry: { digest, size: 1, language: 'js' as const },
  size: 1,
}
const env = { 'MCM.IDLE_SEC': '0' }

let folder: string
let store: DeploymentStore
let heldPaths: HeldPathStore
let containers: Containers
let accountId: string
let inUse: ContentInUse
/** Whether the content was needed each time that work with it was complete: by the document, or by other work. */
let needed: boolean[]
/** Keys of the instances that run, that were started, and of the data that was removed. */
let running: string[]
/** How the image arrived. */
let download = ''
let started: string[]
let removed: string[]
/** Called while an instance starts. */
let whileStarting: () => Promise<unknown>
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'containers-'))
  accountId = 'a'
  needed = []
  inUse = createContentInUse(() =>
    needed.push(Object.hasOwn(store.value.contents, digest) || Object.hasOwn(inUse.all(), digest)),
  )
  running = []
  started = []
  removed = []
  whileStarting = async () => undefined
  store = await openDocument(join(folder, 'deployments'), deploymentsFormat)
  heldPaths = await openHeldPaths(folder)
  await store.update((value) => ({
    ...value,
    contents: { [digest]: content },
    images: Object.fromEntries(
      [own, ...Object.values(others)].map((owner) => [keyOf(owner, 'i'), imageOf(owner)]),
    ),
  }))
  containers = open()
  await containers.resume()
})
afterEach(async () => {
  await containers.close(false)
  await store.close()
  await heldPaths.close()
  rmSync(folder, { recursive: true })
})

const imageOf = ({ account_id, client_id }: Owner) => ({
  clientId: client_id,
  accountId: account_id,
  name: 'i',
  repoTags: [],
  digest,
  created: 0,
  usedAt: 0,
})

const engine = {
  async start({ key }: Plan) {
    started.push(key)
    await whileStarting()
    running.push(key)
    const ended = Promise.withResolvers<Ending>()
    return {
      upstream: { host: '127.0.0.1', port: 1 },
      isolation: [],
      ended: ended.promise,
      memory: async () => null,
      responds: async () => true,
      async stop() {
        running.splice(running.indexOf(key), 1)
        ended.resolve({ reason: 'exited', why: 'stopped' })
      },
    } as Instance
  },
  adopt: async () => undefined,
  recover: async () => undefined,
  removeData: async (key: string) => void removed.push(key),
} as unknown as Engine

const ports = createPorts({
  granted: readGrantedPorts([]),
  reserved: () => new Set(),
  log: createMemoryLog(),
  now: () => 0,
  maxPassages: 16,
})

function open(): Containers {
  return createContainers({
    onServing: () => undefined,
    hold: inUse.hold,
    formerContent: () => undefined,
    describeDownload: (key) => (key === keyOf(own, 'i') ? download : ''),
    store,
    heldPaths,
    secrets: { expectSet: () => undefined, open: () => [], forget: async () => undefined },
    appNameOf: () => undefined,
    namesOf: () => undefined,
    completionOf: () => undefined,
    sharedDataOf: () => ({}),
    configOf: () => Buffer.alloc(0),
    grants: { expect: () => undefined },
    engines: { function: engine, oci: engine },
    storage: { remove: async () => undefined, close: async () => undefined } as never,
    clock: createFakeClock(),
    info: () => ({}) as never,
    hostFor: () => ({}) as never,
    accountId: () => accountId,
    ports,
    schedules: { record: () => undefined, refresh: async () => undefined },
    log: createMemoryLog(),
    onChange: () => undefined,
    onFailed: () => undefined,
    onEvent: () => undefined,
    onNotRecovered: (details) => {
      throw new Error(JSON.stringify(details))
    },
  })
}

const deploy = (owner = own, name = 'web', more = {}) =>
  containers.deploy(owner, { name, image: 'i', env: { ...env, ...more } })
const reasonOf = async (work: () => unknown) => {
  try {
    await work()
    return 'accepted'
  } catch (cause) {
    if (cause instanceof RpcError) return cause.reason
    throw cause
  }
}
const key = keyOf(own, 'web')

/** All calls that accept an ID or a name of a container. */
const calls: Readonly<Record<string, (owner: Owner, id: string) => unknown>> = {
  get: (owner, id) => containers.get(owner, id),
  logs: (owner, id) => containers.logs(owner, id),
  history: (owner, id) => containers.history(owner, id),
  start: (owner, id) => containers.start(owner, id),
  stop: (owner, id) => containers.stop(owner, id),
  remove: (owner, id) => containers.remove(owner, id),
}

describe.each(Object.entries(others))('%s', (_, other) => {
  it.each(Object.keys(calls))('finds no container of the owner: %s', async (call) => {
    await deploy()
    for (const id of ['web', 'c-web', 'c/web', `${key}`, '../c/web', 'a/c/web', ''])
      expect({ id, reason: await reasonOf(() => calls[call]!(other, id)) }).toEqual({
        id,
        reason: 'not_found',
      })
    expect(running).toEqual([key])
    expect(store.value.containers[key]?.wanted).toBe('running')
    expect(await reasonOf(() => calls[call]!(own, 'web'))).toBe('accepted')
  })

  it('lists no container of the owner, and does not replace it', async () => {
    await deploy()
    expect(await containers.list(other)).toEqual([])
    accountId = other.account_id
    await reasonOf(() => deploy(other, 'web'))
    expect(store.value.containers[key]).toMatchObject({ accountId: 'a', clientId: 'c', revision: 1 })
    expect(await containers.list(own)).toHaveLength(1)
  })

  it('deploys no image of the owner', async () => {
    await store.update((value) => ({
      ...value,
      images: { ...value.images, [keyOf(own, 'secret')]: { ...imageOf(own), name: 'secret' } },
    }))
    accountId = other.account_id
    const spec = (image: string) => ({ name: 'x', image, env })
    for (const image of ['secret', 'c-secret', 'c/secret', 'a/c/secret', 'secret:latest'])
      expect(await reasonOf(() => containers.deploy(other, spec(image)))).toBe('not_found')
    expect(running).toEqual([])
  })
})

describe('when the device changes hands', () => {
  it('containers of the former account stop, have no route, and run again when it is back', async () => {
    await deploy()
    accountId = 'b'
    await containers.followAccount()
    expect(running).toEqual([])
    expect([containers.routes(), containers.summary()]).toEqual([[], []])
    expect(await reasonOf(() => containers.start(own, 'web'))).toBe('wrong_account')
    expect(await reasonOf(() => deploy())).toBe('wrong_account')
    expect(await reasonOf(() => deploy(own, 'other'))).toBe('wrong_account')
    // Nothing of it ran, not even until the change was refused.
    expect([running, started]).toEqual([[], [key]])
    accountId = 'a'
    await containers.followAccount()
    await expect.poll(() => running).toEqual([key])
    expect(containers.routes().map(({ id }) => id)).toEqual(['c-web'])
  })

  it('while a container is being deployed, it is neither stored nor left running', async () => {
    whileStarting = async () => {
      accountId = 'b'
    }
    expect(await reasonOf(() => deploy())).toBe('wrong_account')
    expect([running, store.value.containers]).toEqual([[], {}])
  })

  it('while a container is being started, it stays stopped', async () => {
    await deploy()
    await containers.stop(own, 'web')
    whileStarting = async () => {
      accountId = 'b'
    }
    expect(await reasonOf(() => containers.start(own, 'web'))).toBe('wrong_account')
    expect([running, store.value.containers[key]!.wanted]).toEqual([[], 'stopped'])
  })

  it('with `wipe`, all of the account is removed, and nothing of another one', async () => {
    await deploy()
    accountId = 'ab'
    const next = { account_id: 'ab', client_id: 'c' }
    await store.update((value) => ({
      ...value,
      images: { ...value.images, [keyOf(next, 'i')]: imageOf(next) },
    }))
    await containers.followAccount()
    await deploy(next)
    accountId = 'a'
    await containers.followAccount()
    await containers.wipe('a', async () => {
      accountId = ''
    })
    const left = keyOf(next, 'web')
    expect(removed).toEqual([key])
    expect(Object.keys(store.value.containers)).toEqual([left])
    expect(Object.keys(store.value.history)).toEqual([left])
    expect(Object.keys(store.value.images)).not.toContain(keyOf(own, 'i'))
    expect(Object.keys(store.value.images)).toContain(keyOf(next, 'i'))
    expect(running).toEqual([])
  })
})

it('an owner deploys a container again, in the place of the one before', async () => {
  await deploy()
  await deploy()
  expect(store.value.containers).toMatchObject({ [key]: { revision: 2 } })
  await expect.poll(() => running).toEqual([key])
})

it('the history has how often the download of the image was interrupted', async () => {
  await deploy()
  download = 'its download was interrupted 3 times, and needed 9 s'
  await deploy()
  download = ''
  const details = containers.history(own, 'web').history.map(({ detail }) => detail)
  expect(details[0]).toMatch(/^revision 1, image c-i \S+$/)
  expect(details[1]).toMatch(
    /^revision 2, image c-i \S+; its download was interrupted 3 times, and needed 9 s$/,
  )
})

it('an account has 200 containers; another one is neither started nor stored', async () => {
  await deploy()
  const { [key]: stored } = store.value.containers
  const more = Array.from({ length: 199 }, (_, at) => [
    keyOf(own, `more-${at}`),
    { ...stored!, name: `more-${at}` },
  ])
  await store.update((value) => ({
    ...value,
    containers: { ...value.containers, ...Object.fromEntries(more) },
  }))
  expect(await reasonOf(() => deploy(own, 'one-more'))).toBe('limit_exceeded')
  expect([started, Object.keys(store.value.containers).length]).toEqual([[key], 200])
})

describe('while a container is being deployed', () => {
  it('and its image is removed, it is not stored', async () => {
    whileStarting = () => store.update((value) => ({ ...value, images: {}, contents: {} }))
    expect(await reasonOf(() => deploy())).toBe('conflict')
    expect([running, store.value.containers]).toEqual([[], {}])
  })

  it('and another one takes its path, it is not stored', async () => {
    const alias = { 'MCM.API_ALIAS': 'true' }
    const other = { account_id: 'a', client_id: 'd' }
    whileStarting = async () => {
      whileStarting = async () => undefined
      await deploy(other, 'web', alias)
    }
    expect(await reasonOf(() => deploy(own, 'web', alias))).toBe('conflict')
    expect(running).toEqual([keyOf(other, 'web')])
    expect(Object.keys(store.value.containers)).toEqual([keyOf(other, 'web')])
  })

  it('and it is removed as it starts, the start fails', async () => {
    await deploy()
    await containers.stop(own, 'web')
    whileStarting = () => store.update((value) => ({ ...value, containers: {} }))
    expect(await reasonOf(() => containers.start(own, 'web'))).toBe('not_found')
    expect([running, store.value.containers]).toEqual([[], {}])
  })
})

describe('content of an image', () => {
  const withoutImage = () => store.update((value) => withoutUnused({ ...value, images: {} }))

  it('is in use from the plan of a deployment until the document needs it, also if another caller replaced the image', async () => {
    whileStarting = () =>
      store.update((value) =>
        // Another version has the name of the image.
        ({ ...value, contents: {}, images: { ...value.images, [keyOf(own, 'i')]: imageOf(own) } }),
      )
    await deploy()
    expect(store.value.contents).toEqual({ [digest]: content })
    expect(needed).not.toContain(false)
    expect(inUse.all()).toEqual({})
  })

  it('is in use while an instance starts, also if the container is removed meanwhile', async () => {
    await deploy()
    await containers.stop(own, 'web')
    whileStarting = async () => {
      await store.update((value) => ({ ...value, containers: {} }))
      await withoutImage()
      expect(store.value.contents).toEqual({})
      expect(inUse.all()).toEqual({ [digest]: content })
    }
    expect(await reasonOf(() => containers.start(own, 'web'))).toBe('not_found')
    expect(inUse.all()).toEqual({})
  })
})

describe('the paths of a project', () => {
  const alias = { 'MCM.API_ALIAS': 'true', 'MCM.BASE_API_PATH': '/pay/v1' }
  const below = { 'MCM.API_ALIAS': 'true', 'MCM.BASE_API_PATH': '/pay/v1/login' }
  const other: Owner = { account_id: 'a', client_id: 'd' }

  it('are not for another one while the container is there, stopped or removed less than a day ago', async () => {
    await deploy(own, 'web', alias)
    expect(await reasonOf(() => deploy(other, 'login', below))).toBe('conflict')
    await containers.stop(own, 'web')
    expect(await reasonOf(() => deploy(other, 'login', below))).toBe('conflict')
    await containers.remove(own, 'web')
    expect(await reasonOf(() => deploy(other, 'login', below))).toBe('conflict')
    expect(heldPaths.value.map(({ path }) => path)).toEqual(['/c/pay/v1', '/api/pay/v1'])
    await deploy(own, 'web', alias)
  })

  it('are not for another one after the container was redeployed elsewhere, until the account leaves', async () => {
    await deploy(own, 'web', alias)
    await deploy(own, 'web', { ...alias, 'MCM.BASE_API_PATH': '/new' })
    expect(await reasonOf(() => deploy(other, 'login', below))).toBe('conflict')
    await containers.wipe('a', async () => undefined)
    expect(heldPaths.value).toEqual([])
  })

  it('lead only to the older container if an earlier release accepted both', async () => {
    await deploy(own, 'web', alias)
    const { [key]: web } = store.value.containers
    const login = { ...web!, clientId: 'd', name: 'login', env: below, created: web!.created + 1 }
    await store.update((value) => ({
      ...value,
      containers: { ...value.containers, [keyOf(other, 'login')]: login },
    }))
    expect(containers.routes().map(({ prefixes }) => prefixes)).toEqual([
      ['/c/pay/v1', '/api/pay/v1'],
      ['/d/pay/v1/login'],
    ])
  })
})

it('a container that starts by itself is starting after a restart, and one that waits for a request is paused', async () => {
  await deploy()
  await deploy(own, 'lazy', { 'MCM.IDLE_SEC': '60' })
  await containers.close(false)
  const gate = Promise.withResolvers<void>()
  whileStarting = () => gate.promise
  containers = open()
  const states = () => containers.statuses(own).map(({ name, state }) => `${name} ${state}`)
  expect(states()).toEqual(['web starting', 'lazy paused'])
  await containers.resume()
  expect(states()).toEqual(['web starting', 'lazy paused'])
  const [lazy] = containers.routes().filter(({ id }) => id === 'c-lazy')
  const acquired = lazy!.service.acquire()
  expect(states()).toEqual(['web starting', 'lazy starting'])
  gate.resolve()
  await acquired
  await expect.poll(states).toEqual(['web running', 'lazy running'])
  await containers.stop(own, 'web')
  expect(states()).toEqual(['web stopped', 'lazy running'])
})
