/** Keys of public Compose files that are accepted because they mean the same here, or change nothing; and what beside them is still refused. */
import { describe, expect, it } from 'vitest'
import { check, notesOf, problemsOf, serviceOf } from '../harness/check-compose.ts'

const one = (text: string) => `services:\n  web:\n    image: x\n    ${text}\n`
const settingsOf = async (text: string) => serviceOf(await check(one(text))).env
const noteOf = async (text: string) => notesOf(await check(one(text)))[0]
const problemOf = async (text: string) => problemsOf(await check(one(text)))[0]

describe('ulimits', () => {
  it.each([
    ['ulimits: { nofile: 4096 }', '4096'],
    ['ulimits: { nofile: { soft: 1024, hard: 32768 } }', '32768'],
    ['ulimits: { nofile: { soft: 2048 } }', '2048'],
    ['ulimits: { nofile: 1048576, nproc: 65535 }', '65536'],
    ['ulimits: { nofile: -1 }', '65536'],
    ['ulimits: { nofile: 100 }', '256'],
  ])('%s sets the files that a process may have open to %s', async (text, expected) => {
    expect(await settingsOf(text)).toMatchObject({ 'MCM.NOFILE': expected })
  })

  it('has a line for a limit that is another one here', async () => {
    expect(await noteOf('ulimits: { nofile: 262144 }')).toContain('A process has at most 65536 open files')
    expect(await noteOf('ulimits: { nproc: 65535 }')).toContain('by "pids_limit", or the default')
  })

  it.each([
    ['ulimits: { memlock: -1 }', 'services.web.ulimits.memlock: The limit "memlock" is not supported.'],
    ['ulimits: { nofile: many }', 'services.web.ulimits.nofile: "many" is not valid.'],
    ['ulimits: { nofile: {} }', 'services.web.ulimits.nofile: Write a number'],
    ['ulimits: { nofile: { soft: 1, most: 2 } }', 'services.web.ulimits.nofile.most: Only soft and hard'],
    ['ulimits: { nofile: 99999999999999999999 }', 'services.web.ulimits.nofile: '],
  ])('%s is refused by name', async (text, expected) => {
    expect(await problemOf(text)).toContain(expected)
  })
})

describe('the time zone of the device', () => {
  it.each([
    'volumes: ["/etc/localtime:/etc/localtime:ro"]',
    'volumes: ["/etc/localtime:/etc/localtime", "/etc/timezone:/etc/timezone:ro"]',
    'volumes: [{ type: bind, source: /etc/timezone, target: /etc/timezone, read_only: true }]',
  ])('%s gives the service copies of its files, without a permission of the device', async (text) => {
    const env = await settingsOf(text)
    expect(env).toMatchObject({ 'MCM.LOCAL_TIME': 'true' })
    expect(env).not.toHaveProperty(['MCM.MOUNTS'])
    expect(await noteOf(text)).toContain('The service has the time zone of the device')
  })

  it.each([
    '/etc/localtime:/etc/shadow:ro',
    '/etc/../etc/localtime:/etc/localtime:ro',
    '/etc:/etc/localtime:ro',
  ])('%s is a folder or file of the device as others are', async (mount) => {
    const { plan, problems } = await check(one(`volumes: [${JSON.stringify(mount)}]`))
    expect(problems.length > 0 || plan!.services[0]!.env['MCM.MOUNTS']).toBeTruthy()
  })
})

it.each([
  'init: true',
  'hostname: web.local',
  'container_name: my-web',
  'cap_drop: [ALL]',
  'security_opt: ["no-new-privileges:true"]',
  'security_opt: [no-new-privileges]',
  'logging: { driver: json-file, options: { max-size: 10m, max-file: "3" } }',
  'restart: on-failure:3',
])('%s is accepted', async (text) => {
  expect(await problemOf(text)).toBeUndefined()
})

describe('restart: on-failure', () => {
  const restartOf = async (text: string) =>
    (await check(`services:\n  a: { image: x, restart: on-failure${text} }\n`)).plan?.services[0]?.restart

  it.each([
    ', ports: ["1883:1883"]',
    ', expose: ["9000"]',
    ', healthcheck: { test: [CMD, check] }',
    ' }\n  b: { image: x, depends_on: [a]',
    ' }\n  b: { image: x, depends_on: { a: { condition: service_healthy } }',
  ])('is a service that starts again with%s', async (text) => {
    expect(await restartOf(text)).toBe('always')
  })

  it.each([
    '',
    ', healthcheck: { disable: true }',
    ' }\n  b: { image: x, depends_on: { a: { condition: service_completed_successfully } }',
  ])('runs once with%s', async (text) => {
    expect(await restartOf(text)).toBe('on-failure')
  })

  it('has a line that shows which of both', async () => {
    expect(await noteOf('restart: on-failure')).toContain('It runs once while the app is deployed')
    expect(await noteOf('restart: on-failure\n    expose: ["80"]')).toContain('It serves others')
  })
})

it.each([
  'privileged: true',
  'cap_add: [NET_ADMIN]',
  'cap_add: [SYS_ADMIN]',
  'security_opt: [seccomp:unconfined]',
  'security_opt: ["no-new-privileges:false"]',
  'security_opt: [apparmor=unconfined]',
  'volumes: ["/var/run/docker.sock:/var/run/docker.sock:ro"]',
  'pid: host',
  'ipc: host',
  'userns_mode: host',
  'use_api_socket: true',
])('%s is refused: it would open the container', async (text) => {
  expect(await problemOf(text)).toMatch(/^4:\d+ services\.web\./)
})
