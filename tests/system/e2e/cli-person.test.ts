/** A person at the command line: the sign-in from its first line, who it is, and what that person deploys. */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliEnvOf, cliPath, jsonOf } from '../../harness/cli.ts'
import { runCliHere as runCli } from '../../harness/cli-here.ts'
import { type ConsoleSession, enterByLink, projectWith } from '../../harness/console.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

let stack: Stack
let owner: ConsoleSession
const env = (): Record<string, string> => cliEnvOf(stack)
const run = (...args: string[]) => runCli(args, env())
const json = (...args: string[]) => jsonOf(run(...args, '--json'))

beforeAll(async () => {
  stack = await startStack()
  owner = await enterByLink(stack.identity.url, stack.identity.ready.setup!, 'ada@example.com')
  mkdirSync(join(stack.state, 'hello'))
  writeFileSync(
    join(stack.state, 'hello/index.js'),
    `export default { fetch: (request) => new Response('hello ' + new URL(request.url).pathname) }`,
  )
})
afterAll(() => stack.stop())

/** Signs in, as a program that reads the lines of standard output would. */
const signIn = (...more: string[]) => approve('login', ...more)

async function approve(...args: string[]) {
  const child = spawn(process.execPath, [cliPath, ...args, '--json'], {
    env: env(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  const lines = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(JSON.parse(line))
    if (lines.length === 1 && lines[0].user_code)
      await owner.api['device_request.decide']({ userCode: lines[0].user_code, approve: true })
  }
  return { lines, errors, code: child.exitCode ?? (await new Promise((done) => child.once('close', done))) }
}

describe('up', () => {
  it('signs the person in, and makes the device theirs, in one command', async () => {
    const { lines, errors, code } = await approve('up')
    expect({ errors, code }).toEqual({ errors: '', code: 0 })
    const { nodeId, accountId } = await json('me')
    expect(lines).toEqual([
      expect.objectContaining({ user_code: expect.any(String) }),
      { accountId, nodeId, name: expect.any(String), url: expect.stringMatching(`/devices/${nodeId}$`) },
    ])
    expect(accountId).not.toBe('')
  })

  it('does nothing twice', async () => {
    const { code, out, errors } = await run('up')
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(out).toMatch(/belongs to your account: http:\/\/localhost:\d+\/devices\/[0-9a-f]{56}\n$/)
  })

  it('signs in again when the sign-in was revoked', async () => {
    for (const { sid } of await owner.api['sign_in.list']()) await owner.api['sign_in.revoke']({ sid })
    const { lines, code } = await approve('up')
    expect([lines.length, code]).toEqual([2, 0])
    expect((await run('account', 'unassociate')).code).toBe(0)
    expect((await run('logout')).code).toBe(0)
  })
})

describe('login --json', () => {
  it('prints the code on its first line at once, and the result on its second', async () => {
    const { lines, errors, code } = await signIn()
    expect({ errors, code }).toEqual({ errors: '', code: 0 })
    expect(lines).toEqual([
      {
        user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
        verification_uri: expect.stringMatching(/^http:\/\/localhost:\d+\/device$/),
        verification_uri_complete: expect.stringMatching(/\/device\?user_code=[B-Z]{4}-[B-Z]{4}$/),
        expires_in: expect.any(Number),
      },
      {
        identityUrl: stack.identity.url,
        clientId: 'selvedge-cli',
        scope: expect.stringContaining('edge:mcm'),
        email: 'ada@example.com',
        accountId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    ])
  })
})

describe('the person who is signed in', () => {
  it('is shown by whoami and status, with the account of the device', async () => {
    const before = await run('whoami')
    expect(before.out).toMatch(/^person {5}ada@example\.com\naccount {4}[0-9a-f-]{36}\ndevice .*no account/)
    await json('account', 'associate')
    const shown = await json('whoami')
    expect(shown).toMatchObject({
      source: 'sign-in',
      identityUrl: stack.identity.url,
      bearer: { email: 'ada@example.com', clientId: 'selvedge-cli', expiresAt: expect.stringMatching(/Z$/) },
      device: { nodeId: expect.stringMatching(/^[0-9a-f]{56}$/), accountId: shown.bearer.accountId },
    })
    expect(shown.bearer.scopes).toContain('edge:mcm')
    expect(JSON.stringify(shown)).not.toMatch(/eyJ/)
    expect((await run('whoami')).out).toMatch(/device .*, of this account\n/)
    const { out } = await run('status')
    expect(out).toMatch(/^account {4}[0-9a-f-]{36}, that of ada@example\.com$/m)
    expect(out).toMatch(/^login {6}ada@example\.com at http/m)
  })

  it('is also shown while the device does not run, with the reason', async () => {
    const { code, out } = await run('whoami', '--url', 'http://127.0.0.1:9')
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/person {5}ada@example\.com[\s\S]*device {5}unknown: nothing answers at/),
    })
  })

  it('is that of a token where one is given', async () => {
    const file = join(stack.state, 'access')
    writeFileSync(file, (await run('token', 'access')).out)
    const { source, bearer, identityUrl } = await json('whoami', '--token-file', file)
    expect({ source, identityUrl }).toEqual({ source: '--token-file', identityUrl: null })
    expect(bearer).toMatchObject({
      clientId: 'selvedge-cli',
      nodeId: expect.stringMatching(/^[0-9a-f]{56}$/),
    })
    writeFileSync(file, 'not a token')
    expect(await run('whoami', '--token-file', file)).toMatchObject({ code: 4, out: '' })
  })
})

describe('a folder', () => {
  const folder = () => join(stack.state, 'hello')

  it('is deployed, listed, called and followed with short commands', async () => {
    const made = await json('deploy', folder())
    expect(made).toMatchObject({ id: 'selvedge-cli-hello', state: 'running' })
    expect((await run('ps')).out).toMatch(/selvedge-cli-hello {2}running/)
    expect(await json('ps')).toMatchObject([{ name: 'hello' }])
    expect(await run('curl', 'hello', 'a/b')).toMatchObject({ code: 0, out: 'hello /a/b\n' })
    expect(await run('logs', 'hello')).toMatchObject({ code: 0 })
    const named = await run('deploy', folder(), '--name', 'other', '--env', 'MCM.ACCESS=public')
    expect(named.out).toContain('selvedge curl other')
    const { out } = await run(
      'open',
      'other',
      '--url',
      stack.runtime.url,
      '--identity-url',
      stack.identity.url,
    )
    expect(out).toBe(`${stack.runtime.url}/selvedge-cli/other/\n`)
  })

  it('is packed by "image deploy"', async () => {
    expect(await json('image', 'deploy', folder(), '--name', 'packed')).toMatchObject({
      id: 'selvedge-cli-packed',
      kind: 'function',
    })
  })

  it('of another client is not there, and the answer names both the client and the way to it', async () => {
    const scopes = ['openid', 'edge:mcm']
    const { clientId } = await owner.api['project.create'](projectWith({ scopes }))
    const { idToken } = await owner.api['token.create']({ clientId })
    const file = join(stack.state, 'developer')
    writeFileSync(file, idToken)
    const asProject = ['--developer-token-file', file, '--client-id', clientId]
    const list = await run('ps', ...asProject)
    expect(list).toMatchObject({ code: 0, out: 'none\n' })
    for (const { errors } of [
      list,
      await run('image', 'list', ...asProject),
      await run('logs', 'hello', ...asProject),
      await run('logs', 'hello', '--follow', ...asProject),
      await run('curl', 'hello', ...asProject),
      await run('why', 'hello', ...asProject),
      await run('container', 'stop', 'hello', ...asProject),
      await run('image', 'remove', 'hello', ...asProject),
      await run('container', 'deploy', '--name', 'x', '--image', 'hello', ...asProject),
    ]) {
      expect(errors).toContain(`this token is for the client ${clientId}`)
      expect(errors).toContain('selvedge login --client-id')
    }
    expect(await run('ps', '--json', ...asProject)).toMatchObject({ out: '[]\n', errors: '' })
  })

  it('that has no function is refused before anything is sent', async () => {
    mkdirSync(join(stack.state, 'empty'))
    expect(await run('deploy', join(stack.state, 'empty'))).toMatchObject({ code: 2, out: '' })
    expect(await run('deploy', join(folder(), 'index.js'))).toMatchObject({
      code: 2,
      errors: expect.stringContaining('is a file, not a folder'),
    })
  })
})

describe('a context', () => {
  it('names the device for every command, until another one is in use', async () => {
    const { state } = stack
    const { SELVEDGE_STATE: _, ...elsewhere } = env()
    const at = (...args: string[]) => runCli(args, elsewhere)
    expect((await at('context', 'add', 'kitchen', '--state', state)).out).toContain(
      'selvedge context use kitchen',
    )
    expect(await at('ps', '--context', 'kitchen')).toMatchObject({ code: 0 })
    expect((await at('--context', 'kitchen', 'me')).out).toMatch(/^node /)
    expect((await at('context', 'use', 'kitchen')).code).toBe(0)
    expect((await at('context', 'list')).out).toMatch(/\n\* +kitchen +\//)
    expect((await at('status')).out).toMatch(/^context {4}kitchen\n/)
    expect(await at('admin', 'project', 'list')).toMatchObject({ code: 0 })
    expect((await at('context', 'remove', 'kitchen')).code).toBe(0)
    expect((await at('context', 'list')).out).toMatch(/\n\* +default/)
  })
})
