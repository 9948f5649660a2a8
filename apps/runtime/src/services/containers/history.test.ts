import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLearned, type Learned, openDocument } from '@selvedge/service-kit/store'
import {
  createDiskFaults,
  createFakeClock,
  createMemoryLog,
  type DiskFaults,
} from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type Content,
  type DeploymentStore,
  type Deployments,
  deploymentsFormat,
  type StoredContainer,
} from '../deployments/deployments.ts'
import { type HeldPathStore, openHeldPaths } from '../deployments/held-paths.ts'
import { createHistory, type History } from './history.ts'
import { createPathOwners } from './path-owners.ts'
import type { Happening } from './restarts.ts'

const container: StoredContainer = {
  clientId: 'c',
  accountId: 'a',
  name: 'one',
  image: 'image',
  imageKey: 'a/c/image',
  dataKey: 'one',
  digest: `sha256:${'0'.repeat(64)}`,
  env: {},
  created: 0,
  wanted: 'running',
  failed: null,
  note: null,
  revision: 1,
  restarts: 0,
}
const content: Content = {
  kind: 'function',
  config: { digest: container.digest, size: 1 },
  layers: [],
  entry: null,
  size: 1,
}
const failure: Happening = { event: 'failed', rule: 'five restarts', detail: 'it ended', failed: true }

let folder: string
let disk: DiskFaults
let store: DeploymentStore
let heldPaths: HeldPathStore
let learned: Learned<Deployments>
let history: History
let failures: string[]
const open = () => openDocument(join(folder, 'deployments'), deploymentsFormat)

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'history-'))
  disk = await createDiskFaults()
  store = await open()
  heldPaths = await openHeldPaths(folder)
  failures = []
  learned = createLearned(store, {
    where: 'test',
    log: createMemoryLog(),
    times: { firstMs: 1, maxMs: 10 },
  })
  history = createHistory({
    store,
    paths: createPathOwners({ store, heldPaths, clock: createFakeClock() }),
    clock: createFakeClock(),
    learned,
    onFailed: () => failures.push(store.value.containers.one!.failed ?? 'not failed'),
    onEvent: () => undefined,
  })
  await history.put('one', content, () => container, history.item('deployed', 'test', ''))
})
afterEach(async () => {
  disk.repair()
  await learned.stop()
  await store.close()
  await heldPaths.close()
  rmSync(folder, { recursive: true })
})

it('a change keeps what the runtime noted of the container since the caller read it', async () => {
  history.report('one', failure, [])
  await history.change(
    'one',
    (container) => ({ ...container, note: 'rolled back' }),
    history.item('rolled back', 'test', ''),
  )
  expect(store.value.containers.one).toMatchObject({ failed: 'it ended', note: 'rolled back' })
})

it('a change that throws changes nothing', async () => {
  const before = store.value
  await expect(
    history.change(
      'one',
      () => {
        throw new Error('its path is taken')
      },
      history.item('redeployed', 'test', ''),
    ),
  ).rejects.toThrow('its path is taken')
  expect(store.value).toBe(before)
})

it('a container that was removed meanwhile does not come back with a change of it', async () => {
  await store.update((value) => ({ ...value, containers: {} }))
  const stopped = history.change('one', (container) => container, history.item('stopped', 'test', ''))
  await expect(stopped).rejects.toMatchObject({ reason: 'not_found' })
  expect(store.value.containers).toEqual({})
  expect(history.of('one')).toMatchObject([{ event: 'deployed' }])
})

it('what happens to a container after it was removed is there, unless its history was removed too', async () => {
  const killed = { event: 'killed', rule: 'test', detail: 'it did not exit' }
  await store.update((value) => ({ ...value, containers: {} }))
  history.report('one', killed, [])
  expect(history.of('one')).toMatchObject([{ event: 'deployed' }, { event: 'killed' }])
  await store.update((value) => ({ ...value, history: {} }))
  history.report('one', killed, [])
  expect(history.of('one')).toBeUndefined()
})

it('a container that failed on a full disk has failed, and is stored as failed once there is room', async () => {
  disk.fail('write')
  history.report('one', failure, [])
  expect(failures).toEqual(['it ended'])
  await store.settled()
  expect(store.value.containers.one!.failed).toBe('it ended')
  disk.repair()
  // With no other change of the document.
  await learned.stop()
  await store.close()
  store = await open()
  expect(store.value.containers.one).toMatchObject({ failed: 'it ended' })
})
