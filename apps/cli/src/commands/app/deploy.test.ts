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
let present: ImageRecord[]
let sent: AppPlan | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'app-deploy-'))
  called = []
  present = []
  sent = undefined
})
afterEach(() => rmSync(folder, { recursive: true }))

const context = () =>
  ({
    terminal: { isWatched: false },
    runtime: {
      getImages: async () => {
        called.push(['getImages'])
        return present
      },
      deployImage: async ({ source, name }: { source: string; name: string }) => {
        called.push(['deployImage', source, name])
        return { name } as ImageRecord
      },
      setSecret: async ({ name, value }: { name: string; value: string }) =>
        void called.push(['setSecret', name, Buffer.from(value, 'base64').toString()]),
      deployApp: async ({ plan }: { plan: AppPlan }) => {
        called.push(['deployApp', plan.services.map(({ image }) => image)])
        sent = plan
        return { id: 'c-shop' } as AppRecord
      },
    },
  }) as unknown as Context

const deploy = (text: string, more: { name?: string; envFiles?: string[] } = {}) => {
  const path = join(folder, 'compose.yaml')
  writeFileSync(path, text)
  const token = async () => {
    called.push(['token'])
    return 'token'
  }
  return deployCompose(context(), { path, profiles: [], envFiles: [], name: 'shop', ...more }, token)
}

it('fetches images, sets secrets, and deploys the app, in this order', async () => {
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
  expect(called).toEqual([
    ['token'],
    ['getImages'],
    ['deployImage', 'redis:7', 'redis-7'],
    ['deployImage', 'redis:6', 'redis-6'],
    ['deployImage', 'postgres:16', 'postgres-16'],
    ['setSecret', 'shop.password', 'hidden'],
    ['setSecret', 'shop.key', 'key'],
    ['deployApp', ['redis-7', 'redis-6', 'postgres-16']],
  ])
  expect(appPlan.safeParse(sent).success).toBe(true)
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
  expect(called.slice(2)).toEqual([
    ['deployImage', 'nginx', 'nginx-latest'],
    ['deployApp', expect.arrayContaining(['cache', 'own', 'nginx-latest'])],
  ])
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
  ]
  expect(describeApp({ id: 'c-shop', revision: 2, members } as unknown as AppRecord).split('\n')).toEqual([
    'deployed c-shop, revision 2:',
    '  web: running, at /c/shop',
    '  db: missing',
    'its state  selvedge app list',
    'its logs   selvedge logs shop-web',
  ])
})
