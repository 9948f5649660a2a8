import { execFile } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliEnvOf, cliPath, jsonOf } from '../../harness/cli.ts'
import { runCliHere as runCli } from '../../harness/cli-here.ts'
import { adminOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { root, type Stack, startStack, temporaryFolder } from '../../harness/processes.ts'
import { runIn } from '../../harness/run-in.ts'

let stack: Stack
let clientId: string
const token = () => join(stack.state, 'developer-token')
const exchange = () => ['--developer-token-file', token(), '--client-id', clientId]

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runCli(args, { ...cliEnvOf(stack), ...env })
const json = (args: readonly string[]) => jsonOf(run([...args, '--json']))

beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack.stop())

describe('selvedge', () => {
  it('makes account, project and developer ID token with no browser', async () => {
    const { accountId } = await json(['admin', 'account', 'create', '--email', 'Dev@Example.com'])
    expect(await json(['admin', 'account', 'list'])).toMatchObject([{ accountId, email: 'dev@example.com' }])
    clientId = (await json(['admin', 'project', 'create', '--name', 'demo'])).clientId
    expect(await json(['admin', 'project', 'list'])).toMatchObject([{ clientId, accountId, name: 'demo' }])
    const made = await json([
      'admin',
      'token',
      'developer',
      '--email',
      'dev@example.com',
      '--client-id',
      clientId,
      '--out',
      token(),
    ])
    expect(made).toEqual({ jti: expect.any(String), expiresAt: expect.any(String), file: token() })
    expect((statSync(token()).mode & 0o777).toString(8)).toBe('600')
    expect(readFileSync(token(), 'utf8')).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/)
  })

  it('goes on with the account that there is, where none is named', async () => {
    const [{ accountId }] = await json(['admin', 'account', 'list'])
    const create = ['admin', 'account', 'create', '--email', 'other@example.com']
    expect(await json([...create, '--if-none'])).toEqual({ accountId })
    const { idToken } = await json(['admin', 'token', 'developer', '--client-id', clientId])
    expect(jose.decodeJwt(idToken)).toMatchObject({ email: 'dev@example.com' })
  })

  it('associates the account in one go, and -v shows each call as a curl line without any secret', async () => {
    const { code, out, errors } = await run(['account', 'associate', ...exchange(), '-v'])
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/^associated with account [0-9a-f-]{36}\n$/),
    })
    expect(errors.match(/^curl /gm)).toHaveLength(4)
    expect(errors).toContain('getEdgeIdToken')
    expect(errors).toContain('grant_type=id_token_signin')
    expect(errors).toContain('associateAccount')
    expect(errors).not.toMatch(/eyJ/)
    expect(await json(['account', 'show'])).toMatchObject({
      accountId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  })

  it('shows the runtime and its services', async () => {
    expect(await json(['me'])).toMatchObject({
      nodeId: expect.stringMatching(/^[0-9a-f]{56}$/),
      version: '0.1.0',
    })
    expect(await json(['status'])).toMatchObject({
      services: { identity: { answers: true }, discovery: { answers: true } },
    })
    expect((await run(['status'])).out).toMatch(/^runtime .*\naccount .*\ntime {7}trusted/m)
  })

  it('calls the services that the runtime uses, at their addresses', async () => {
    const { checks } = await json(['doctor'])
    const detailOf = (name: string) =>
      checks.find((each: { name: string }) => each.name === name) as { ok: boolean; detail: string }
    expect(detailOf('identity')).toMatchObject({ ok: true, detail: `answers at ${stack.identity.url}` })
    expect(detailOf('discovery')).toMatchObject({ ok: true, detail: `answers at ${stack.discovery.url}` })
    const command = [process.execPath, cliPath, 'login', '-v']
    const { errors } = await runIn(stack.state, command, { env: cliEnvOf(stack), untilShown: 'Code ' })
    expect(errors).toContain(`${stack.identity.url}/device_authorization`)
  })

  it('gets tokens, records locations, makes and checks HMAC codes', async () => {
    expect(await json(['token', 'edge'])).toMatchObject({ id_token: expect.stringMatching(/^eyJ/) })
    expect(await json(['token', 'access', ...exchange()])).toMatchObject({
      token_type: 'Bearer',
      scope: 'openid edge:mcm edge:clusters edge:account:associate',
    })
    const file = join(stack.state, 'access-token')
    writeFileSync(file, (await run(['token', 'access', ...exchange()])).out)
    expect(
      await json(['gps', 'update', '--longitude', '-123.1', '--latitude', '49.2', '--token-file', file]),
    ).toEqual({ status: 'ok' })
    expect(await json(['gps', 'show', ...exchange()])).toMatchObject({
      longitude: '-123.1',
      latitude: '49.2',
      speed: '0',
      published: true,
    })
    const { edgeHmacCode } = await json(['hmac', 'create', '--uri', '/x', '--token-file', file])
    expect(await json(['hmac', 'verify', edgeHmacCode, '--uri', '/x'])).toMatchObject({ valid: true })
    expect((await run(['hmac', 'verify', edgeHmacCode, '--uri', '/y'])).out).toBe('not valid: wrong_uri\n')
  })

  it('calls any method', async () => {
    const access = (await run(['token', 'access', ...exchange()])).out.trim()
    expect(await json(['call', 'getMe'])).toHaveProperty('nodeId')
    expect(await json(['call', 'getMe', '[""]'])).toHaveProperty('nodeId')
    expect(await json(['call', 'updateGps', access, '-123.1', '49.2', '0', '0'])).toEqual({ status: 'ok' })
    expect(await run(['call', 'noSuchMethod'])).toMatchObject({
      code: 1,
      out: '',
      errors: expect.stringContaining('method_not_found'),
    })
  })

  it('rotates keys, lists nodes, disables projects', async () => {
    expect(
      (await json(['admin', 'keys', 'rotate'])).map(({ state }: { state: string }) => state).sort(),
    ).toEqual(['active', 'next', 'retired'])
    const [{ nodeId }] = await json(['admin', 'node', 'list'])
    expect(await json(['admin', 'node', 'block', nodeId])).toMatchObject({ blockedAt: expect.any(String) })
    expect(await json(['admin', 'node', 'unblock', nodeId])).toMatchObject({ blockedAt: null })
    expect(await json(['admin', 'enrolment', 'create'])).toMatchObject({
      code: expect.stringMatching(/^([B-Z]{4}-){2}[B-Z]{4}$/),
    })
    const { clientId: other } = await adminOf(stack.state)['project.create']({
      name: 'x',
      email: null,
      scopes: null,
      resources: null,
    })
    expect(await json(['admin', 'project', 'disable', other])).toEqual({ clientId: other })
  })

  it('removes the account', async () => {
    const { code, out } = await run(['account', 'unassociate', ...exchange()])
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^removed account /) })
    expect((await run(['account', 'show'])).out).toBe('none; to make the device yours: selvedge up\n')
  })
})

describe('a mistake', () => {
  const company = [
    ...['admin', 'company', 'add', 'corp.example', '--issuer', 'https://login.example', '--client-id', 'x'],
    '--client-secret-file',
  ]
  it.each([
    [['nonsense'], 2, /unknown command "nonsense"\nhint: "selvedge help" lists/],
    [['getme'], 2, /unknown command "getme"\nhint: Did you mean "selvedge me"\?/],
    [
      ['container', 'ls'],
      2,
      /unknown command "container ls"\nhint: Did you mean "selvedge container list"\?/,
    ],
    [['gps', 'shwo', '--json'], 2, /Did you mean "selvedge gps show"\?/],
    [['logs'], 2, /<id> is missing\nhint: Usage: selvedge logs <id>/],
    [['ps'], 4, /error: an access token is needed/],
    [['whoami'], 4, /error: an access token is needed/],
    [['logout'], 4, /not signed in/],
    [['ps', '--token-file', '/dev/null'], 4, /\/dev\/null is empty/],
    [['ps', '--token-file', '/dev/zero'], 2, /\/dev\/zero has more than 65536 bytes/],
    [[...company, '/nowhere'], 2, /can't read \/nowhere/],
    [[...company, '/dev/zero'], 2, /\/dev\/zero has more than 4096 bytes/],
    [[...company, '/dev/null'], 2, /the file with the client secret is empty/],
    [['me', '--context', 'nowhere'], 2, /there is no context "nowhere"/],
    [['container', 'deploy', '--image', 'x'], 2, /error: the container has no name: --name is missing/],
    [['container', 'deploy', '--name', 'a b', '--image', 'x'], 2, /cannot have the name "a b"/],
    [['container', 'deploy', '--payload', '/dev/zero'], 2, /\/dev\/zero has more than 1048576 bytes/],
    [['deploy', '/nowhere'], 2, /there is no folder "\/nowhere"/],
    [['deploy', 'ghcr.io/team/app'], 2, /selvedge image deploy ghcr.io\/team\/app, then/],
    [['deploy', 'redis:7'], 2, /selvedge image deploy redis:7, then/],
    [
      ['deploy', join(root, 'tests/compose/apps/gitea'), '--env', 'A=1'],
      2,
      /a Compose file has the variables/,
    ],
    [['deploy', 'apps/hello'], 2, /selvedge init worker hello/],
    [['image', 'deploy', './nowhere.tar'], 2, /there is no file or folder \.\/nowhere\.tar/],
    [['context', 'add', 'x'], 2, /the context x needs the address of a device/],
    [['context', 'add', 'x', '--url', 'http://192.0.2.1'], 2, /over HTTPS only/],
    [['me', '--nonsense'], 2, /unknown option/],
    [
      ['gps', 'update', '--latitude', '1'],
      2,
      /--longitude <degrees> is missing\nhint: Usage: [\s\S]*"selvedge help gps update" explains it/,
    ],
    [
      ['location', 'share', 'everyone', '1km'],
      2,
      /'everyone' is not a valid <audience>; allowed are account, others\nhint: Usage: /,
    ],
    [
      ['account', 'associate'],
      4,
      /error: an access token is needed\nhint: Sign in with "selvedge login", or give --token-file/,
    ],
    [['account', 'associate', '--token-file', '/nowhere'], 2, /can't read \/nowhere/],
    [
      ['admin', 'token', 'developer', '--email', 'a@b.cd', '--client-id', 'x', '--days', 'many'],
      2,
      /--days is "many", not a whole number of days from 1 to 365/,
    ],
    [['call', 'getMe', '{'], 2, /not JSON/],
    [
      ['me', '--url', 'http://127.0.0.1:9'],
      3,
      /nothing answers at http:\/\/127\.0\.0\.1:9.*\nhint: Start it/,
    ],
    [['me', '--state', '/nowhere', '--url', 'http://127.0.0.1:9'], 3, /nothing answers/],
    [['gps', 'show', '--token-file', '/etc/hostname'], 4, /token_malformed/],
    [['admin', 'token', 'revoke', 'nobody'], 1, /not_found/],
  ])('%j: exit code %d, said on standard error, nothing on standard output', async (args, code, message) => {
    for (const more of [[], ['--json']]) {
      const ran = await run([...args, ...more])
      expect({ code: ran.code, out: ran.out }).toEqual({ code, out: '' })
      expect(ran.errors).toMatch(message)
    }
  })

  it('of a person who is asked for a token that is of no use says what to do', async () => {
    const folder = await temporaryFolder()
    const file = join(folder.path, 't')
    writeFileSync(file, `${readFileSync(token(), 'utf8').slice(0, -10)}\n`)
    const ran = await run(['account', 'associate', '--developer-token-file', file, '--client-id', clientId])
    expect(ran).toMatchObject({ code: 4, errors: expect.stringContaining('developer ID token') })
    await folder.remove()
  })
})

describe('the completions', () => {
  it.each(['bash', 'zsh', 'fish'])('of %s know every command', async (shell) => {
    const { out } = await run(['completion', shell])
    for (const word of ['associate', 'unassociate', 'developer', '--developer-token-file', 'rotate'])
      expect(out).toContain(word)
  })

  it('work in a real bash', needs('bash'), async () => {
    const { out } = await run(['completion', 'bash'])
    const complete = (words: string[]) =>
      new Promise<string[]>((resolve) => {
        const script = `${out}\nCOMP_WORDS=(selvedge ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _selvedge; printf '%s\\n' "\${COMPREPLY[@]}"`
        execFile('bash', ['-c', script], (_, stdout) => resolve(stdout.trim().split('\n')))
      })
    expect(await complete(['acc'])).toEqual(['account'])
    expect(await complete(['account', ''])).toEqual(['associate', 'unassociate', 'show'])
    expect(await complete(['account', 'associate', '--cl'])).toEqual(['--client-id'])
    expect(await complete(['completion', 'f'])).toEqual(['fish'])
  })
})
