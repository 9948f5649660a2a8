/** Each failed check that a machine of tests can have: its hint, followed literally, makes the check pass. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { createServer, type Server } from 'node:tls'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Issued, makeAuthority, type TestAuthority } from '../../harness/authority.ts'
import { cliEnvOf, cliPath, runCli } from '../../harness/cli.ts'
import { runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import {
  type Program,
  type Stack,
  startProgram,
  startStack,
  temporaryFolder,
} from '../../harness/processes.ts'

interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  readonly hints: readonly string[]
}

interface Result {
  readonly checks: readonly Check[]
  readonly fixed?: readonly { readonly command: string; readonly problem: string }[]
}

const doctor = async (env: Record<string, string>, ...args: readonly string[]): Promise<Result> => {
  const { out, errors } = await runCli(['doctor', ...args, '--json'], env)
  expect(errors).toBe('')
  const result = JSON.parse(out) as Result
  for (const { hints } of result.checks) expect(hints.join('\n')).not.toMatch(/selvedge doctor/)
  return result
}

describe('a hint, followed literally,', () => {
  let stack: Stack
  let env: Record<string, string>
  const at = (...path: string[]) => join(stack.state, ...path)
  const config = () => at('config.json')

  beforeAll(async () => {
    stack = await startStack()
    const bin = at('bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'selvedge'), `#!/bin/sh\nexec "${process.execPath}" "${cliPath}" "$@"\n`, {
      mode: 0o755,
    })
    env = { ...cliEnvOf(stack), PATH: `${bin}:${process.env.PATH}`, SELVEDGE_CONFIG: config() }
    configure({})
  })
  afterAll(() => stack.stop())

  function configure(settings: object): void {
    writeFileSync(config(), JSON.stringify(settings), { mode: 0o600 })
    chmodSync(config(), 0o600)
  }

  /** Runs the command of a hint as a shell does. */
  function run(hint: string): void {
    const command = hint.match(/(?:^|: )((?:chmod|selvedge|\(?umask) .*)$/)?.[1]
    expect(command, hint).toBeDefined()
    const file = at(`copy-${process.hrtime.bigint()}`)
    const { status, stderr } = spawnSync('sh', ['-ec', command!.replace('<file>', file)], {
      ...{ encoding: 'utf8', env },
    })
    expect(status, `${command}: ${stderr}`).toBe(0)
  }

  /** Sets what a hint such as "Set it to info" names. */
  const set = (section: string, path: string) => (hint: string) => {
    const [, value] = /Set it to (\w+)/.exec(hint) ?? []
    expect(value, hint).toBeDefined()
    configure({ [section]: { [path]: value } })
  }

  it.each<[name: string, detail: string, provoke: () => void, follow: (hint: string) => void]>([
    ['state', 'open to other users', () => chmodSync(stack.state, 0o755), run],
    ['backup', 'identity: the store was never backed up', () => undefined, run],
    ['backup', 'discovery: the store was never backed up', () => undefined, run],
    [
      'keys',
      'a key that is not random',
      () => writeFileSync(at('identity/secret-keys'), `${'A'.repeat(43)}\n`, { mode: 0o600 }),
      run,
    ],
    ['settings', 'with mode 666', () => chmodSync(config(), 0o666), run],
    [
      'settings',
      'log.level is debug',
      () => configure({ runtime: { 'log.level': 'debug' } }),
      set('runtime', 'log.level'),
    ],
    [
      'settings',
      'enrolment is open',
      () => configure({ identity: { enrolment: 'open' } }),
      set('identity', 'enrolment'),
    ],
  ])('ends the failed check %s: %s', async (name, detail, provoke, follow) => {
    provoke()
    const isIt = (each: Check) => each.name === name && !each.ok && each.detail.includes(detail)
    const found = (await doctor(env, '--production')).checks.find(isIt)
    expect(found).toBeDefined()
    follow(found!.hints[0]!)
    expect((await doctor(env, '--production')).checks.find(isIt)).toBeUndefined()
  })

  it('is run by --fix where it needs no decision, and the check passes after it', async () => {
    chmodSync(stack.state, 0o755)
    const { fixed, checks } = await doctor(env, '--production', '--fix')
    expect(fixed).toContainEqual({ command: `chmod 700 ${stack.state}`, problem: '' })
    expect(checks).toContainEqual(expect.objectContaining({ name: 'state', ok: true }))
  })
})

describe('a fault of a certificate', needs('openssl'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let entrance: Server
  let company: TestAuthority
  let other: TestAuthority
  let issuing: TestAuthority
  let identity: Program
  let url: string
  const at = (name: string) => join(folder.path, name)

  /** Replaces the file of the authorities of the system, as update-ca-certificates does. */
  function trust({ path }: TestAuthority): void {
    copyFileSync(path, at('draft.crt'))
    renameSync(at('draft.crt'), at('system.crt'))
  }

  beforeAll(async () => {
    folder = await temporaryFolder()
    company = makeAuthority(folder.path, 'Company Root', 'Company')
    other = makeAuthority(folder.path, 'Other Root', 'Other')
    issuing = company.intermediate('Company Issuing')
    const port = await freePort()
    entrance = createServer((client) => {
      const upstream = connect(port, '127.0.0.1')
      client.on('error', () => upstream.destroy())
      upstream.on('error', () => client.destroy())
      client.pipe(upstream).pipe(client)
    }).on('tlsClientError', () => undefined)
    entrance.listen(0, '127.0.0.1')
    await once(entrance, 'listening')
    url = `https://localhost:${(entrance.address() as AddressInfo).port}`
    const settings = ['--role=cloud', `--issuer=${url}`, `--listen.port=${port}`]
    identity = await startProgram('identity', { SELVEDGE_STATE: at('identity') }, settings)
  })
  afterAll(async () => {
    await identity?.stop()
    entrance?.close()
    await folder?.remove()
  })

  it.each<[fault: string, issue: () => Issued, message: RegExp, hint: string]>([
    [
      'an expired one',
      () => company.issue('localhost', -1),
      /expired at \d{4}-\d\d-\d\dT\d\d:\d\dZ, and the clock here/,
      'Renew',
    ],
    [
      'one that is not valid yet',
      () => company.issueFrom('localhost', 2),
      /not valid before \d{4}-\d\d-\d\dT/,
      'set-ntp',
    ],
    ['one for other names', () => company.issue('other.example'), /names: DNS:other\.example/, 'name'],
    ['one without its chain', () => issuing.issue('localhost'), /"Company Issuing".*incomplete/, 'fullchain'],
    [
      'one of an unknown authority',
      () => other.issue('localhost'),
      /an authority that is not trusted here: "Other Root"/,
      'update-ca-certificates',
    ],
  ])(
    '%s is named by daemon, notice, status and command line, and ends without a restart',
    async (fault, issue, message, hint) => {
      const own = { SSL_CERT_FILE: at('system.crt') }
      const state = at(fault.replaceAll(' ', '-'))
      trust(company)
      entrance.setSecureContext(issue())
      const args = [`--identity.url=${url}`, '--listen.port=0']
      const program = await startProgram('runtime', { SELVEDGE_STATE: state, ...own }, args)
      const runtime = runtimeOf({ runtime: program })
      const env = { ...cliEnvOf({ state }), ...own }
      const check = async () => (await doctor(env)).checks.find(({ name }) => name === 'identity')!

      await expect(runtime.getEdgeIdToken()).rejects.toThrow(message)
      const { network, notices } = await runtime.getMe()
      expect(network.identity.lastError).toMatch(message)
      expect(notices.map(({ reason }) => reason)).toContain('network_unusable')
      expect(program.errors().replaceAll('\\"', '"')).toMatch(message)
      const { detail, hints } = await check()
      expect(detail).toMatch(message)
      expect(hints[0]).toContain(hint)
      expect((await runCli(['status'], env)).out).toMatch(message)

      if (message.source.includes('Other')) trust(other)
      else entrance.setSecureContext(company.issue('localhost'))
      const token = () => runtime.getEdgeIdToken().then(() => 'issued', String)
      await expect.poll(token).toBe('issued')
      expect(await check()).toMatchObject({ ok: true })
      await program.stop()
    },
  )
})
