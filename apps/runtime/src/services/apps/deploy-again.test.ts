/** An app is rolled back to the release before, or starts again as it is: as one, like every deployment. */
import { cpSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

const dependsOnDb = [{ service: 'db', condition: 'healthy', isRequired: true } as const]
const first = plan('shop', [service('db'), service('web', { dependsOn: dependsOnDb })])
const second = plan('shop', [service('cache'), service('web', { image: 'j' })])

const removeImage = (name: string) =>
  device.deployments.update((value) => {
    const { [keyOf(own, name)]: _, ...images } = value.images
    return { ...value, images }
  })
/** Releases that are stored. */
const stored = () => {
  const folder = join(device.folder, 'releases')
  return existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) => each.includes('/'))
    : []
}

describe('a rollback', () => {
  it('deploys the release before in the order of its members, as the next one, and forward again', async () => {
    await device.apps.deploy(own, first)
    await device.apps.deploy(own, second)
    device.seen.started = []
    const back = await device.apps.rollBack(own, 'shop')
    expect(back).toMatchObject({ revision: 3, note: null })
    expect(back.members.map((each) => [each.service, each.dependsOn])).toEqual([
      ['db', []],
      ['web', ['db']],
    ])
    expect(device.seen.started).toEqual(['shop-db', 'shop-web'])
    expect(device.containersIn()).toEqual({ 'shop-db': 'i r1', 'shop-web': 'i r3' })
    await device.apps.rollBack(own, 'shop')
    expect(device.containersIn()).toEqual({ 'shop-cache': 'i r1', 'shop-web': 'j r4' })
    expect(stored()).toHaveLength(2)
  })

  it('has the image of that time, although it was replaced or removed meanwhile', async () => {
    await device.apps.deploy(own, plan('shop', [service('web')]))
    const before = Object.values(device.deployments.value.containers)[0]!.digest
    await device.deployments.update((value) => {
      const [i, j] = ['i', 'j'].map((name) => keyOf(own, name)) as [string, string]
      return {
        ...value,
        images: { ...value.images, [i]: { ...value.images[i]!, digest: value.images[j]!.digest } },
      }
    })
    await device.apps.deploy(own, plan('shop', [service('web')]))
    expect(Object.values(device.deployments.value.containers)[0]!.digest).not.toBe(before)
    await removeImage('i')
    await device.apps.rollBack(own, 'shop')
    expect(Object.values(device.deployments.value.containers)[0]!.digest).toBe(before)
    expect(
      device.releases.all().flatMap(({ contents }) => contents.map(({ config }) => config.digest)),
    ).toContain(before)
  })

  it('has the files and the secrets of that time, also after a restart of the runtime', async () => {
    const using = (content: string) =>
      plan(
        'shop',
        [
          service('web', {
            configs: [{ config: 'site', target: '/site', mode: '0444', uid: 0, gid: 0 }],
            secrets: [{ secret: 'password', file: 'password' }],
          }),
        ],
        {
          configs: [{ name: 'site', content }],
          secrets: [{ name: 'password', from: 'environment', variable: 'X' }],
        },
      )
    const deploy = (text: string) =>
      device.apps.deploy(own, using(text), [
        { name: 'password', value: Buffer.from(text).toString('base64') },
      ])
    await deploy('one')
    await deploy('two')
    await device.close(false)
    device = await openDevice(device.folder)
    const got: string[] = []
    device.seen.whileStarting = async ({ configs = [], secrets = () => [] }) =>
      void got.push(...configs.map(({ read }) => `${read()}`), ...secrets().map(({ value }) => `${value}`))
    await device.apps.rollBack(own, 'shop')
    expect(got).toEqual(['one', 'one'])
    await deploy('three')
    expect(device.secrets.list(own)).toHaveLength(2)
    await device.apps.remove(own, 'shop')
    expect([device.secrets.list(own), stored()]).toEqual([[], []])
  })

  it('keeps the volumes that the app has since', async () => {
    const files = { volume: 'files', target: '/files', isReadOnly: false }
    const both = ['a', 'b'].map((each) => service(each, { volumes: [files] }))
    await device.apps.deploy(own, plan('shop', [service('a')]))
    await device.apps.deploy(own, plan('shop', both, { volumes: [{ name: 'files' }] }))
    await device.apps.rollBack(own, 'shop')
    expect(device.stored.value[keyOf(own, 'shop')]?.current?.appVolumes).toEqual(['files'])
  })

  it('leaves members that did not change as they are, and is in their history', async () => {
    await device.apps.deploy(own, plan('shop', [service('db'), service('web')]))
    await device.apps.deploy(own, plan('shop', [service('db'), service('web', { image: 'j' })]))
    await device.apps.rollBack(own, 'shop')
    expect(device.containersIn()).toEqual({ 'shop-db': 'i r1', 'shop-web': 'i r3' })
    expect(device.deployments.value.history[keyOf(own, 'shop-web')]?.at(-1)).toMatchObject({
      rule: 'rollbackApp',
    })
  })

  it('leaves out a deployment that changed nothing, and one that failed', async () => {
    await device.apps.deploy(own, first)
    await device.apps.deploy(own, second)
    await device.apps.deploy(own, second)
    device.seen.whileStarting = async () => {
      throw new Error('it does not start')
    }
    const failing = plan('shop', [service('web', { env: { X: '1', 'MCM.IDLE_SEC': '0' } })])
    expect(await reasonOf(() => device.apps.deploy(own, failing))).toBe('container_failed')
    device.seen.whileStarting = async () => undefined
    await device.apps.rollBack(own, 'shop')
    expect(Object.keys(device.containersIn()).toSorted()).toEqual(['shop-db', 'shop-web'])
  })

  it('leaves the present release if a member fails', async () => {
    await device.apps.deploy(own, first)
    await device.apps.deploy(own, second)
    const before = device.containersIn()
    device.seen.whileStarting = async ({ key }) => {
      if (key.endsWith('/shop-web')) throw new Error('it does not start')
    }
    expect(await reasonOf(() => device.apps.rollBack(own, 'shop'))).toBe('container_failed')
    expect([device.containersIn(), (await device.apps.get(own, 'shop')).revision]).toEqual([before, 2])
    device.seen.whileStarting = async () => undefined
    expect(await device.apps.rollBack(own, 'shop')).toMatchObject({ revision: 3 })
  })

  it('is refused without a former release, for another project, and for one that is damaged', async () => {
    const isRefused = async (owner = own) =>
      expect(await reasonOf(() => device.apps.rollBack(owner, 'shop'))).toBe('not_found')
    await isRefused()
    await device.apps.deploy(own, first)
    await isRefused()
    await device.apps.deploy(own, second)
    await isRefused(neighbour)
    for (const text of ['', '{', '{}', '[]', 'null', '{"release":null,"containers":[]}']) {
      for (const each of stored()) writeFileSync(join(device.folder, 'releases', each), text)
      await isRefused()
      await device.close(false)
      device = await openDevice(device.folder)
      await isRefused()
    }
    expect(await reasonOf(() => device.apps.redeploy(own, 'shop'))).toBe('not_found')
    expect(await reasonOf(() => device.apps.deploy(own, first))).toBe('accepted')
  })

  it('makes room for other images, and is refused then', async () => {
    await device.apps.deploy(own, first)
    await device.apps.deploy(own, second)
    const release = device.releases.all().find(({ contents }) => contents.every(({ size }) => size === 1))!
    await device.releases.drop(release)
    expect(await reasonOf(() => device.apps.rollBack(own, 'shop'))).toBe('not_found')
  })

  it('is not possible for an account that left', async () => {
    await device.apps.deploy(own, first)
    await device.apps.deploy(own, second)
    device.seen.accountId = 'b'
    expect(await reasonOf(() => device.apps.rollBack(own, 'shop'))).toBe('wrong_account')
    expect(await reasonOf(() => device.apps.redeploy(own, 'shop'))).toBe('wrong_account')
    await device.apps.forget('a')
    expect(stored()).toEqual([])
  })

  it('has the present release or the former one after a power cut at any moment', async () => {
    await device.apps.deploy(own, first)
    await device.apps.deploy(own, second)
    const copies: string[] = []
    const copy = () => {
      const to = mkdtempSync(join(tmpdir(), 'apps-killed-'))
      cpSync(device.folder, to, { recursive: true })
      copies.push(to)
    }
    device.seen.whileStarting = async () => copy()
    device.seen.aroundWrite = async (write) => {
      copy()
      await write()
      copy()
    }
    await device.apps.rollBack(own, 'shop')
    const found: string[] = []
    for (const each of copies) {
      const again = await openDevice(each)
      const { revision } = await again.apps.get(own, 'shop')
      found.push(`${revision} ${Object.values(again.containersIn()).join()}`)
      const forward = await again.apps.rollBack(own, 'shop')
      expect(forward.revision).toBe(revision + 1)
      await again.close()
    }
    expect([...new Set(found)]).toEqual(['2 j r2,i r1', '3 i r3,i r1'])
  })
})

describe('a redeployment', () => {
  it('starts all members again in their order, with the present images', async () => {
    await device.apps.deploy(own, first)
    await device.deployments.update((value) => {
      const [i, j] = ['i', 'j'].map((name) => keyOf(own, name)) as [string, string]
      return {
        ...value,
        images: { ...value.images, [i]: { ...value.images[i]!, digest: value.images[j]!.digest } },
      }
    })
    device.seen.started = []
    expect(await device.apps.redeploy(own, 'shop')).toMatchObject({ revision: 2 })
    expect(device.seen.started).toEqual(['shop-db', 'shop-web'])
    const digests = Object.values(device.deployments.value.containers).map(({ digest }) => digest)
    expect(new Set(digests)).toEqual(new Set([device.deployments.value.images[keyOf(own, 'j')]!.digest]))
    await device.apps.stop(own, 'shop')
    await device.apps.redeploy(own, 'shop')
    expect(device.seen.running.toSorted()).toEqual(['shop-db r3', 'shop-web r3'])
  })

  it('is refused if an image was removed, for an app that is not there, and for a member alone', async () => {
    await device.apps.deploy(own, first)
    const member = () => device.containers.redeploy(own, 'shop-db')
    expect(await reasonOf(member)).toBe('conflict')
    expect(await reasonOf(() => device.apps.redeploy(neighbour, 'shop'))).toBe('not_found')
    await removeImage('i')
    expect(await reasonOf(() => device.apps.redeploy(own, 'shop'))).toBe('not_found')
    expect(device.containersIn()).toEqual({ 'shop-db': 'i r1', 'shop-web': 'i r1' })
  })

  it('of a single container replaces it, also if nothing changed or it was stopped', async () => {
    await device.containers.deploy(own, { name: 'one', image: 'i', env: { 'MCM.IDLE_SEC': '0', X: '1' } })
    await device.containers.stop(own, 'one')
    expect(await device.containers.redeploy(own, 'c-one')).toMatchObject({ state: 'running', reason: null })
    expect(device.containersIn()).toEqual({ one: 'i r2' })
    expect(await reasonOf(() => device.containers.redeploy(neighbour, 'one'))).toBe('not_found')
  })
})
