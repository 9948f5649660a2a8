/** What the device must have, and what an app must not change, before anything starts. */
import { describe, expect, it } from 'vitest'
import { openDevice, own, plan, reasonOf, service } from '../../../../../tests/harness/app-device.ts'
import { expectAppRoom, expectSameVolumes } from './requirements.ts'
import type { Release, StoredApp } from './stored-apps.ts'

const networks = [{ network: 'back', aliases: [] }]
const parts = { networks: [{ name: 'back', isInternal: false }] }

describe('members with a common network', () => {
  it.each<[string, () => ReturnType<typeof plan>, string | undefined, string]>([
    [
      'start where they find each other',
      () => plan('x', [service('a', { networks }), service('b', { networks })], parts),
      undefined,
      'accepted',
    ],
    [
      'need an engine with rules',
      () => plan('x', [service('a', { networks }), service('b', { networks })], parts),
      'it needs Podman as root',
      'engine_unavailable',
    ],
    [
      'are no functions',
      () => plan('x', [service('a', { networks }), service('b', { networks, image: 'f' })], parts),
      undefined,
      'invalid_params',
    ],
    [
      'are not in the network of the device',
      () =>
        plan(
          'x',
          [service('a', { networks }), service('b', { networks, env: { 'MCM.NETWORK': 'host' } })],
          parts,
        ),
      undefined,
      'invalid_params',
    ],
  ])('%s', async (_, wanted, missing, reason) => {
    const device = await openDevice()
    device.seen.missingForNames = missing
    expect(await reasonOf(() => device.apps.deploy(own, wanted()))).toBe(reason)
    expect(device.seen.started.length > 0).toBe(reason === 'accepted')
    await device.close()
  })

  it('are not needed by one that is alone on its network', async () => {
    const device = await openDevice()
    device.seen.missingForNames = 'it needs Podman as root'
    expect(
      await reasonOf(() =>
        device.apps.deploy(own, plan('x', [service('a', { networks }), service('b')], parts)),
      ),
    ).toBe('accepted')
    await device.close()
  })
})

const release = (volumes: Readonly<Record<string, readonly string[]>>): Release => ({
  revision: 1,
  deployedAt: 0,
  secrets: [],
  completed: [],
  members: Object.entries(volumes).map(([name, own]) => ({
    service: name,
    networks: [],
    dependsOn: [],
    volumes: [...own],
  })),
})

it('a volume stays with its member: another one would not get its data', () => {
  const before = release({ db: ['data'] })
  expect(() => expectSameVolumes(before, release({ db: ['data', 'more'] }))).not.toThrow()
  expect(() => expectSameVolumes(before, release({ db: [], store: ['other'] }))).not.toThrow()
  expect(() => expectSameVolumes(before, release({ store: ['data'] }))).toThrow(
    'the volume "data" has the data of db',
  )
  expect(() => expectSameVolumes(null, release({ store: ['data'] }))).not.toThrow()
})

it('a volume that one member had is not shared: the others would not get its data', () => {
  const shared: Release = { ...release({ db: [], web: [] }), appVolumes: ['data'] }
  expect(() => expectSameVolumes(release({ db: ['data'] }), shared)).toThrow(
    'the volume "data" has the data of db, which others would not get by sharing it',
  )
  expect(() => expectSameVolumes(release({ db: ['other'] }), shared)).not.toThrow()
  expect(() => expectSameVolumes(shared, shared)).not.toThrow()
})

describe('room for apps', () => {
  const appsOf = (count: number, clientId: string, accountId = 'a') =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [
        `${accountId}/${clientId}/${at}`,
        { accountId, clientId } as StoredApp,
      ]),
    )
  it('is limited for a project and for the device, and an app that is there may be deployed again', () => {
    expect(() => expectAppRoom(appsOf(49, 'c'), 'a/c/x', own, release({}))).not.toThrow()
    expect(() => expectAppRoom(appsOf(50, 'c'), 'a/c/x', own, release({}))).toThrow('the project has 50 apps')
    expect(() => expectAppRoom(appsOf(50, 'c'), 'a/c/0', own, release({}))).not.toThrow()
    expect(() => expectAppRoom(appsOf(50, 'c', 'b'), 'a/c/x', own, release({}))).not.toThrow()
    expect(() => expectAppRoom(appsOf(200, 'd'), 'a/c/x', own, release({}))).toThrow(
      'the device has 200 apps',
    )
  })

  it('is limited in the size of a record', () => {
    const large = release({ db: Array.from({ length: 2000 }, (_, at) => `volume-${at}-${'x'.repeat(40)}`) })
    expect(() => expectAppRoom({}, 'a/c/x', own, large)).toThrow('the limit is 65536')
  })
})
