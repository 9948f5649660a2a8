import { expect, it } from 'vitest'
import { methods } from '../methods/index.ts'
import { maxBodyBytesOf } from '../methods/method.ts'
import { configBytes } from './config-content.ts'
import { type AppPlan, appPlan, appPlanLimits, expectedOfSetting } from './plan.ts'

const service = {
  name: 'web',
  image: 'nginx:1.27',
  pull: 'missing',
  platform: null,
  hostname: null,
  isBehindGateway: true,
  env: { 'MCM.PORT': '80' },
  dependsOn: [],
  restart: 'always',
  maxRestarts: null,
  needsInit: false,
  addCapabilities: [],
  dropCapabilities: [],
  networks: [{ network: 'default', aliases: [] }],
  volumes: [{ volume: 'data', target: '/data', isReadOnly: false }],
  secrets: [{ secret: 'key', file: 'key.pem' }],
  configs: [{ config: 'site', target: '/etc/site.conf', mode: '0440', uid: 101, gid: 101 }],
} as const satisfies AppPlan['services'][number]

const plan: AppPlan = {
  name: 'shop',
  services: [service],
  networks: [{ name: 'default', isInternal: false }],
  volumes: [{ name: 'data' }],
  secrets: [{ name: 'key', from: 'file', path: 'key.pem' }],
  configs: [{ name: 'site', content: 'server {}' }],
}

const isValid = (value: unknown) => appPlan.safeParse(value).success
const withService = (change: object) => isValid({ ...plan, services: [{ ...service, ...change }] })

it('accepts a plan, and returns it as it is', () => {
  expect(appPlan.parse(plan)).toEqual(plan)
})

it('has files of root that everyone can read, unless it has other ones', () => {
  const read = (config: object) =>
    appPlan.parse({ ...plan, services: [{ ...service, configs: [config] }] }).services[0]!.configs[0]
  const file = { config: 'site', target: '/etc/site.conf' }
  expect(read(file)).toEqual({ ...file, mode: '0444', uid: 0, gid: 0 })
  for (const change of [
    { mode: '4755' },
    { mode: '444' },
    { mode: '0844' },
    { uid: 65_536 },
    { gid: -1 },
    { uid: 0.5 },
  ])
    expect(withService({ configs: [{ ...file, ...change }] })).toBe(false)
})

const withContent = (content: string, encoding?: string) =>
  isValid({ ...plan, configs: [{ name: 'site', content, encoding }] })

it.each(['', 'QQ==', 'QUI=', 'QUJD', 'QUJDRA==', '+/+/', 'A'.repeat(240_000)])(
  'has a file with base64',
  (text) => {
    expect(withContent(text, 'base64')).toBe(true)
    expect(Buffer.from(configBytes({ content: text, encoding: 'base64' })).toString('base64')).toBe(text)
  },
)

it.each([
  'Q',
  'QQ',
  'QQ=',
  'QUI',
  'Q===',
  'QQ==QQ==',
  'Q Q=',
  '-_-_',
  'QUJD\n',
  'é===',
  `${'A'.repeat(240_000)}!`,
])('refuses a file with another spelling of base64, which is a text', (text) => {
  expect(withContent(text, 'base64')).toBe(false)
  expect(withContent(text, 'text')).toBe(true)
  expect(withContent(text, 'hex')).toBe(false)
  expect(Buffer.from(configBytes({ content: text })).toString()).toBe(text)
})

it.each(['', 'Shop', '-a', 'a-', 'a_b', 'a/b', '..', 'x'.repeat(31)])(
  'refuses the name %j of an app',
  (name) => {
    expect(isValid({ ...plan, name })).toBe(false)
  },
)

it.each(['', '..', 'a/b', 'A', 'a\0', 'x'.repeat(33)])('refuses the name %j of a service', (name) => {
  expect(withService({ name })).toBe(false)
})

it.each(['', 'data', '/', '/a/../b', '/a/.', '/a\0', '//a', `/${'x'.repeat(200)}`])(
  'refuses the path %j in a container',
  (target) => {
    expect(withService({ configs: [{ config: 'site', target }] })).toBe(false)
    expect(withService({ volumes: [{ volume: null, target, isReadOnly: true }] })).toBe(false)
  },
)

it.each(['../key', 'a/b', '.', '..', ''])('refuses the file %j of a secret', (file) => {
  expect(withService({ secrets: [{ secret: 'key', file }] })).toBe(false)
})

it('refuses members that it does not know, and values of secrets', () => {
  expect(isValid({ ...plan, more: 1 })).toBe(false)
  expect(withService({ privileged: true })).toBe(false)
  expect(isValid({ ...plan, secrets: [{ name: 'key', from: 'file', path: 'a', value: 'x' }] })).toBe(false)
})

it('has a limit of services, and at least one', () => {
  expect(isValid({ ...plan, services: [] })).toBe(false)
  expect(isValid({ ...plan, services: Array(appPlanLimits.services).fill(service) })).toBe(true)
  expect(isValid({ ...plan, services: Array(appPlanLimits.services + 1).fill(service) })).toBe(false)
})

it('knows which settings of containers are valid', () => {
  expect(expectedOfSetting('MCM.PORT', '80')).toBeUndefined()
  expect(expectedOfSetting('MCM.PORT', '0')).toBe('a port from 1 to 65535')
  expect(expectedOfSetting('MCM.OTHER', 'x')).toContain('a setting of this runtime')
  expect(expectedOfSetting('constructor', 'x')).toContain('a setting of this runtime')
})

it('a plan within its limit of bytes fits into a request, and no method makes the runtime parse more for an unknown caller', () => {
  expect(appPlanLimits.planBytes).toBeLessThan(maxBodyBytesOf(methods.deployApp))
  expect(Math.max(...Object.values(methods).map(maxBodyBytesOf))).toBe(256 * 1024)
})
