/** What is sent to a device for a Compose file, in which order, and what stops before anything is sent. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AppPlan, type AppRecord, appPlan, type ImageRecord } from '@selvedge/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Context } from '../../context/context.ts'
import { deployCompose, describeApp } from './deploy.ts'

let folder: string
/** Methods that were called, with the parameter that matters. */
let called: unknown[][]
/** What the runtime is to pull. */
let pulled: (readonly string[])[]
let present: ImageRecord[]
let sent: AppPlan | undefined
let values: { readonly name: string; readonly value: string }[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'app-deploy-'))
  called = []
  pulled = []
  present = []
  sent = undefined
  values = []
})
afterEach(() => rmSync(folder, { recursive: true }))

interface Sent {
  readonly plan: AppPlan
  readonly secrets?: typeof values
  readonly pulls?: readonly { readonly source: string; readonly name: string; readonly now?: boolean }[]
}

const context = () =>
  ({
    terminal: { isWatched: false },
    runtime: {
      getImages: async () => {
        called.push(['getImages'])
        return present
      },
      deployApp: async ({ plan, secrets = [], pulls = [] }: Sent) => {
        called.push(['deployApp', plan.services.map(({ image }) => image)])
        pulled = pulls.map(({ source, name, now }) => [source, name, ...(now ? ['now'] : [])])
        values = secrets
        sent = plan
        return { id: 'c-shop' } as AppRecord
      },
    },
  }) as unknown as Context

const deploy = (text: string, more: { name?: string; envFiles?: string[]; now?: boolean } = {}) => {
  const path = join(folder, 'compose.yaml')
  writeFileSync(path, text)
  const token = async () => {
    called.push(['token'])
    return 'token'
  }
  return deployCompose(context(), { path, profiles: [], envFiles: [], name: 'shop', ...more }, token)
}

it('downloads images at once with "now"', async () => {
  await deploy('services:\n  cache: { image: redis:7 }\n', { now: true })
  expect(pulled).toEqual([['redis:7', 'redis-7', 'now']])
})

it('fetches images, and deploys the app with the values of its secrets', async () => {
  writeFileSync(join(folder, 'password'), 'hidden')
  writeFileSync(join(folder, '.env'), 'SELVEDGE_TEST_APP_KEY=key')
  await deploy(`
services:
  cache: { image: redis:7 }
  old: { image: redis:6 }
  db: { image: postgres:16, secrets: [password, key] }
secrets:
  password: { file: ./password }
  key: { environment: SELVEDGE_TEST_APP_KEY }
`)
  expect(called).toEqual([['token'], ['getImages'], ['deployApp', ['redis-7', 'redis-6', 'postgres-16']]])
  expect(pulled).toEqual([
    ['redis:7', 'redis-7'],
    ['redis:6', 'redis-6'],
    ['postgres:16', 'postgres-16'],
  ])
  expect(appPlan.safeParse(sent).success).toBe(true)
  expect(values.map(({ name, value }) => [name, Buffer.from(value, 'base64').toString()])).toEqual([
    ['password', 'hidden'],
    ['key', 'key'],
  ])
  expect(JSON.stringify(sent)).not.toContain('hidden')
})

it('uses images that the device has, fetches those that it has to, and fetches each once', async () => {
  present = [
    { id: 'c-own', name: 'own', repoTags: [] },
    { id: 'c-cache', name: 'cache', repoTags: ['docker.io/library/redis:7'] },
  ] as unknown as ImageRecord[]
  await deploy(`
services:
  one: { image: redis:7 }
  two: { image: own }
  three: { image: nginx, pull_policy: always }
  four: { image: nginx }
`)
  expect(called.slice(2)).toEqual([['deployApp', expect.arrayContaining(['cache', 'own', 'nginx-latest'])]])
  expect(pulled).toEqual([['nginx', 'nginx-latest']])
})

it.each([
  ['services:\n  web: { image: x, privileged: true }', /compose\.yaml:2:\d+: services\.web\.privileged/],
  ['services: []', /compose\.yaml:1/],
])('sends nothing for a file with a problem: %j', async (text, message) => {
  await expect(deploy(text)).rejects.toThrow(message)
  expect(called).toEqual([])
})

it.each([
  ['environment: NOT_SET_ANYWHERE', 'the variable NOT_SET_ANYWHERE is not set, or is empty'],
  ['file: ./empty', './empty is empty'.slice(2)],
])('sends nothing for a secret without a value: %s', async (source, message) => {
  writeFileSync(join(folder, 'empty'), '')
  const text = `services:\n  web: { image: x, secrets: [s] }\nsecrets:\n  s: { ${source} }\n`
  await expect(deploy(text)).rejects.toThrow(message)
  expect(called).toEqual([])
})

it('deploys nothing where an image is missing that must not be fetched', async () => {
  const text = 'services:\n  web: { image: nothing, pull_policy: never }\n'
  await expect(deploy(text)).rejects.toThrow('the device has no image nothing')
  expect(called).toEqual([['token'], ['getImages']])
})

it('sends nothing if the values of secrets are too large for one request', async () => {
  const names = Array.from({ length: 4 }, (_, at) => `s${at}`)
  for (const name of names) writeFileSync(join(folder, name), 'x'.repeat(65_000))
  const secrets = names.map((name) => `  ${name}: { file: ./${name} }\n`).join('')
  const text = `services:\n  web: { image: x, secrets: [${names.join(', ')}] }\nsecrets:\n${secrets}`
  await expect(deploy(text)).rejects.toThrow('bytes with the values of its secrets; the limit is 245760')
  expect(called).toEqual([])
})

it('reads no secret through a link that leads out of the folder', async () => {
  mkdirSync(join(folder, 'app'))
  writeFileSync(join(folder, 'outside'), 'x')
  const text = 'services:\n  web: { image: x, secrets: [s] }\nsecrets:\n  s: { file: ../outside }\n'
  await expect(deploy(text)).rejects.toThrow('secrets.s')
  expect(called).toEqual([])
})

it('shows members with their state and path', () => {
  const container = { state: 'running', basePath: '/c/shop', name: 'shop-web' }
  const members = [
    { service: 'web', container },
    { service: 'db', container: null },
    {
      service: 'migrate',
      container: {
        ...{ state: 'completed', basePath: '', name: 'shop-migrate' },
        completed: { exitCode: 0, at: '2026-01-01T03:00:00.000Z' },
      },
    },
  ]
  expect(describeApp({ id: 'c-shop', revision: 2, members } as unknown as AppRecord).split('\n')).toEqual([
    'deployed c-shop, revision 2:',
    '  web: running, at /c/shop',
    '  db: missing',
    '  migrate: completed with exit code 0 at 2026-01-01T03:00:00.000Z',
    'its state  selvedge app list',
    'its logs   selvedge logs shop-web',
  ])
})
