/** Each condition that is not fit for production is named with its fix, and a fit one passes. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Check } from './check.ts'
import { checkFolder } from './folder.ts'
import { checkListeners, checkUrls, readListeners } from './network.ts'
import { checkRuntime } from './runtime.ts'
import { checkInsecure, checkSettings, readSettings } from './settings.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'production-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Details of the failed checks; each has a fix. */
function problemsOf(checks: readonly Check[]): string[] {
  const failed = checks.filter(({ ok }) => !ok)
  for (const { hints } of failed) expect(hints.join('')).not.toBe('')
  return failed.map(({ detail }) => detail)
}

describe('settings', () => {
  const problemsIn = (content: string, mode = 0o600) => {
    const path = join(folder, 'config.json')
    writeFileSync(path, content)
    chmodSync(path, mode)
    return problemsOf(checkSettings(readSettings({ SELVEDGE_CONFIG: path })))
  }

  it.each([
    [
      { runtime: { allowedOrigins: ['http://console.example'] } },
      'allowedOrigins has http://console.example',
    ],
    [{ runtime: { allowedOrigins: ['https://*'] } }, 'allowedOrigins has https://*'],
    [{ identity: { 'metrics.listen': '0.0.0.0:9100' } }, 'metrics.listen is 0.0.0.0:9100'],
    [{ runtime: { metrics: { listen: 'http://[2001:db8::1]:9100' } } }, 'which the network reaches'],
    [{ discovery: { log: { level: 'debug' } } }, 'log.level is debug'],
    [
      { runtime: { images: { insecure: ['registry.local:5000'] } } },
      'runtime: images.insecure has registry.local:5000',
    ],
    [{ identity: { issuer: 'http://identity.example' } }, 'http://identity.example is not encrypted'],
    [{ runtime: { identity: { url: 'http://10.0.0.1:8084' } } }, 'http://10.0.0.1:8084 is not encrypted'],
    [{ identity: { listen: { port: 0 } } }, 'a random port'],
    [{ identity: { enrolment: 'open' } }, 'enrolment is open'],
  ])('%j is named', (content, problem) =>
    expect(problemsIn(JSON.stringify(content))).toEqual([expect.stringContaining(problem)]),
  )

  it.each([
    {},
    {
      runtime: {
        allowedOrigins: ['https://console.example'],
        metrics: { listen: '/run/selvedge/metrics.sock' },
      },
    },
    {
      identity: { issuer: 'https://identity.example', 'metrics.listen': '127.0.0.1:9100', enrolment: 'code' },
    },
    { discovery: { 'metrics.listen': '[::1]:9100', log: { level: 'info' } } },
  ])('%j passes', (content) => expect(problemsIn(JSON.stringify(content))).toEqual([]))

  it('a registry without a certificate is named without --production, and nothing else', () => {
    const path = join(folder, 'config.json')
    const images = { insecure: ['registry.local:5000', '10.0.0.7'] }
    const content = { runtime: { images, log: { level: 'debug' } }, identity: { images } }
    writeFileSync(path, JSON.stringify(content), { mode: 0o600 })
    const problems = () => problemsOf(checkInsecure(readSettings({ SELVEDGE_CONFIG: path })))
    expect(problems()).toEqual([
      'runtime: images.insecure has registry.local:5000',
      'runtime: images.insecure has 10.0.0.7',
    ])
    writeFileSync(path, '{')
    expect(problems()).toEqual([])
  })

  it('a file that others can change, or that is no JSON, is named', () => {
    expect(problemsIn('{}', 0o666)).toEqual([expect.stringContaining('cannot be used')])
    expect(problemsIn('{')).toEqual([expect.stringContaining('cannot be used')])
    expect(problemsIn('null')).toEqual([])
    expect(problemsIn('{"runtime":{"listen":{"a":{"b":{"c":{"d":1}}}}}}')).toEqual([])
  })
})

describe('the network', () => {
  const table = (...locals: string[]) => {
    const path = join(folder, 'tcp')
    const rows = locals.map((local, at) => `  ${at}: ${local} 00000000:0000 0A 00000000:00000000`)
    writeFileSync(path, ['  sl  local_address rem_address   st', ...rows].join('\n'))
    return readListeners([path, join(folder, 'missing')])
  }

  it.each(['00000000:1F94', '0A00000A:1F95', '00000000000000000000000000000000:1F93'])(
    'a port that other machines reach is named: %s',
    (local) =>
      expect(problemsOf(checkListeners(table(local)))).toEqual([expect.stringContaining('other machines')]),
  )

  it.each([
    '0100007F:1F94',
    '00000000000000000000000001000000:1F94',
    '0000000000000000FFFF00000100007F:1F94',
    '00000000:0016',
  ])('a loopback address or another port passes: %s', (local) =>
    expect(problemsOf(checkListeners(table(local)))).toEqual([]),
  )

  it('reads the sockets of this machine', () => {
    expect(readListeners().every(({ port }) => port > 0 && port < 65_536)).toBe(true)
  })

  it('a service without TLS is named, at an address of this machine too', () => {
    expect(problemsOf(checkUrls({ identity: 'http://identity.example' }))).toEqual([
      expect.stringContaining('tokens can be read on the way'),
    ])
    expect(
      problemsOf(checkUrls({ identity: 'http://127.0.0.1:8084', discovery: 'http://[::1]:1' })),
    ).toHaveLength(2)
    expect(problemsOf(checkUrls({ identity: 'https://identity.example', discovery: undefined }))).toEqual([])
  })
})

describe('a state folder', () => {
  const now = Date.parse('2026-06-01T00:00:00Z')
  const state = () => join(folder, 'state')
  beforeEach(() => {
    mkdirSync(join(state(), 'identity'), { recursive: true, mode: 0o700 })
    writeFileSync(join(state(), 'identity', 'identity.db'), '')
    writeFileSync(join(state(), 'identity', 'last-backup'), '2026-05-30T00:00:00.000Z\n')
    utimesSync(state(), 0, 0)
  })
  const problems = () =>
    problemsOf(checkFolder(state(), now)).filter((each) => !each.includes('runs as root'))

  it('that is private, with a backup of this week, passes', () => expect(problems()).toEqual([]))
  it('that others may enter is named', () => {
    chmodSync(state(), 0o750)
    expect(problems()).toEqual([expect.stringContaining('mode 0750')])
  })
  it.each([
    ['2026-05-01T00:00:00.000Z', 'the last backup was made at 2026-05-01'],
    ['\u001b[2J', 'never backed up'],
    ['', 'never backed up'],
  ])('with the last backup %j is named', (text, problem) => {
    writeFileSync(join(state(), 'identity', 'last-backup'), text)
    expect(problems()).toEqual([expect.stringContaining(problem)])
  })
  it('with a key that was typed is named, and the key is not shown', () => {
    const key = Buffer.alloc(32, 'secret').toString('base64url')
    writeFileSync(join(state(), 'identity', 'secret-keys'), `${key}\n`)
    expect(problems()).toEqual([expect.stringContaining('not random')])
    expect(JSON.stringify(checkFolder(state(), now))).not.toContain(key)
  })
})

describe('a runtime', () => {
  const time = '2026-06-01T00:00:00.000Z'
  const now = Date.parse(time)
  const me = { time: { state: 'trusted', now: time }, revocations: { checkedAt: time, issuedAt: time } }
  const report = { available: true, detail: 'podman, version 5, rootless', hints: [] }
  const engines = {
    function: { ...report, isolation: ['namespaces', 'cgroup v2'] },
    oci: { ...report, isolation: [] },
  }
  const problems = (more: object, other: object = {}, at = now) =>
    problemsOf(checkRuntime({ ...me, ...more } as never, { ...engines, ...other } as never, at))

  it('with a confirmed clock, a fresh list and both layers of isolation passes', () =>
    expect(problems({})).toEqual([]))
  it.each([
    [{ time: { state: 'held', now: time } }, {}, 'not confirmed'],
    [{ revocations: { checkedAt: null } }, {}, 'not confirmed since the start'],
    [{ revocations: { checkedAt: '2026-05-31T00:00:00Z' } }, {}, 'confirmed 86400 s ago'],
    [{}, { function: { ...report, isolation: ['memory watch', 'namespaces'] } }, 'without control groups'],
    [{}, { function: { ...report, isolation: ['cgroup v2'] } }, 'without namespaces'],
    [{}, { oci: { ...report, detail: '/run/docker.sock, version 29', isolation: [] } }, 'runs as root'],
  ])('%j %j is named', (more, other, problem) =>
    expect(problems(more, other)).toEqual([expect.stringContaining(problem)]),
  )
  it('on a machine with another time is named', () =>
    expect(problems({}, {}, now + 60_000)).toEqual([expect.stringContaining('differs by 60 s')]))
})
