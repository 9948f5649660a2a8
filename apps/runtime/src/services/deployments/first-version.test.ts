import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDocument } from '@selvedge/service-kit/store'
import { expect, it } from 'vitest'
import { deploymentsFormat } from './deployments.ts'

const digest = `sha256:${'0'.repeat(64)}`
const blob = { digest, size: 1 }
const content = { kind: 'function', config: blob, layers: [], entry: { ...blob, language: 'js' }, size: 1 }
const image = (accountId: string, name: string) => ({
  clientId: 'cli',
  accountId,
  name,
  repoTags: [],
  digest,
  created: 1,
  usedAt: 1,
})
const container = (accountId: string, name: string) => ({
  clientId: 'cli',
  accountId,
  name,
  image: 'app',
  imageId: 'cli-app',
  digest,
  env: {},
  created: 1,
  wanted: 'running',
  failed: null,
  note: null,
  revision: 3,
  restarts: 0,
})
const entry = (event: string, accountId?: string) => ({
  at: 1,
  event,
  rule: '',
  by: accountId === undefined ? null : { accountId, clientId: 'cli' },
  detail: '',
})

const first = {
  contents: { [digest]: content },
  images: { 'cli-app': image('a', 'app') },
  containers: { 'cli-web': container('a', 'web'), 'cli-old': container('b', 'old') },
  leaving: { 'cli-gone': 'function' },
  history: {
    'cli-web': [
      entry('restarted'),
      entry('deployed', 'b'),
      entry('failed'),
      entry('redeployed', 'a'),
      entry('x'),
    ],
    'cli-gone': [entry('deployed', 'b'), entry('removed', 'b')],
    'cli-unknown': [entry('restarted')],
  },
}

it('a document of version 1 is migrated: everything gets its owner, and stored data is not moved', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'deployments-'))
  const format = { version: 1, initial: {}, read: (json: unknown) => json as object }
  const before = await openDocument(join(folder, 'deployments'), format)
  await before.update(() => first)
  await before.close()

  const store = await openDocument(join(folder, 'deployments'), deploymentsFormat)
  const { images, containers, history, leaving, contents } = store.value
  expect(Object.keys(images)).toEqual(['a/cli/app'])
  expect(containers).toMatchObject({
    'a/cli/web': { dataKey: 'cli-web', imageKey: 'a/cli/app', accountId: 'a', revision: 3 },
    'b/cli/old': { dataKey: 'cli-old', imageKey: 'b/cli/app', accountId: 'b' },
  })
  expect(
    Object.fromEntries(Object.entries(history).map(([key, all]) => [key, all.map(({ event }) => event)])),
  ).toEqual({
    'b/cli/web': ['restarted', 'deployed', 'failed'],
    'a/cli/web': ['redeployed', 'x'],
    'b/cli/gone': ['deployed', 'removed'],
  })
  expect(leaving).toEqual({ 'cli-gone': 'function' })
  expect(Object.keys(contents)).toEqual([digest])
  // It stays what it was read as.
  await store.update((value) => value)
  await store.close()
  const again = await openDocument(join(folder, 'deployments'), deploymentsFormat)
  expect(again.value).toEqual(store.value)
  expect(again.notices).toEqual([])
  await again.close()
  rmSync(folder, { recursive: true })
})

it.each([
  ['images', { ...first, images: undefined }],
  ['images', { ...first, images: { 'cli-app': { ...image('a', 'app'), name: undefined } } }],
  ['containers', { ...first, containers: { 'cli-web': { ...container('a', 'web'), imageId: undefined } } }],
  ['history', { ...first, history: { 'cli-gone': [{ ...entry('deployed'), by: undefined }] } }],
])('a document of version 1 with incomplete %s is refused, with their path', (member, json) => {
  const issue = expect.objectContaining({ path: expect.arrayContaining([member]) })
  expect(() => deploymentsFormat.read(json, 1)).toThrow(expect.objectContaining({ issues: [issue] }))
})
