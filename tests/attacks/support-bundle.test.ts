/** A support bundle is sent to other people: it contains no secret and no personal data, in whatever form. */
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliEnvOf, cliPath } from '../harness/cli.ts'
import { runCliHere } from '../harness/cli-here.ts'
import { type Services, startServices } from '../harness/services.ts'

const variable = 'variable-Zk3vR8qLmT2w'
const place = { longitude: '151.2093417', latitude: '-33.8688213', speed: '0', bearing: '0' }
const password = 'urlpass-Xc9bN4hYpQ7d'

/** Writes what a careless service writes: its environment in several forms, its caller, control sequences. */
const careless = `export default { fetch(request, env) {
  const secret = env.SETTING
  console.log('secret ' + secret, btoa(secret), [...secret].map((c) => c.charCodeAt(0).toString(16)).join(''))
  console.log('caller ' + request.headers.get('authorization') + ' ada@example.com \\u001b[2J\\u202e')
  return new Response('x') } }`

let services: Services
let secrets: Record<string, string>
let env: Record<string, string>
beforeAll(async () => {
  services = await startServices({ args: ['--apiKey=false', '--log.level=debug'] })
  const { stack, developer, token } = services
  await services.deploy('careless', careless, { SETTING: variable, 'MCM.BASE_API_PATH': '/careless/v1' })
  const { status } = await services.call(`/${developer.clientId}/careless/v1/x`, { token })
  expect(status).toBe(200)
  await services.runtime().updateGps({ edgeAccessToken: token, ...place })
  const config = join(stack.state, 'config.json')
  const settings = {
    identity: { store: `postgres://selvedge:${password}@db.example/x`, issuer: 'https://identity.example' },
    runtime: {
      name: 'Ada’s \u001b[2Jvan',
      log: { level: 'debug' },
      identity: { enrolmentCode: 'enrol-7Hq2LmPw9sKd' },
    },
  }
  writeFileSync(config, JSON.stringify(settings), { mode: 0o600 })
  writeFileSync(join(stack.state, 'ada@example.com'), '')
  env = {
    ...cliEnvOf(stack),
    SELVEDGE_CONFIG: config,
    SELVEDGE_ACCESS_TOKEN: token,
    SELVEDGE_API_KEY: 'apikey-Yh4nBv8cXz1q',
  }
  const nodeKey = JSON.parse(readFileSync(join(stack.state, 'runtime', 'node-key.json'), 'utf8')) as {
    signing: { d: string }
    agreement: { d: string }
  }
  secrets = {
    'access token': token,
    'signature of the access token': token.split('.')[2]!,
    'developer ID token': developer.idToken.split('.')[2]!,
    'key of the node': nodeKey.signing.d,
    'other key of the node': nodeKey.agreement.d,
    'keys that encrypt secrets': readFileSync(join(stack.state, 'identity', 'secret-keys'), 'utf8').trim(),
    'API key': env.SELVEDGE_API_KEY!,
    'variable of a container': variable,
    'password in a URL': password,
    'enrolment code': 'enrol-7Hq2LmPw9sKd',
    'e-mail address': 'ada@example.com',
    'e-mail address of the account': developer.email,
  }
})
afterAll(() => services.stop())

/** As it is, encoded, and in pieces that JSON separates. */
const formsOf = (secret: string): string[] => {
  const bytes = Buffer.from(secret)
  return [
    secret,
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ]
}
const joined = (text: string) => text.replaceAll(/\\n|[\s"',\\[\]{}:]/g, '')

function findIn(bundle: string): string[] {
  const texts = [bundle, bundle.toLowerCase(), joined(bundle)]
  return Object.entries(secrets).flatMap(([what, secret]) =>
    formsOf(secret).some((form) => texts.some((text) => text.includes(form) || text.includes(joined(form))))
      ? [what]
      : [],
  )
}

async function makeBundle(...args: string[]) {
  const file = join(services.stack.state, `bundle${args.length}${Date.now()}.json`)
  const { code, out, errors } = await runCliHere(['support', 'bundle', '-o', file, ...args], env)
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  return { file, out, text: readFileSync(file, 'utf8') }
}

describe('a support bundle', () => {
  it('has no secret, e-mail address, location, environment or log', async () => {
    const { file, text, out } = await makeBundle()
    expect(findIn(text + out)).toEqual([])
    for (const personal of [place.longitude, place.latitude, '151.2', '-33.8', 'careless', 'van', 'SETTING'])
      expect(text, personal).not.toContain(personal)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const bundle = JSON.parse(text) as Record<string, Record<string, unknown>>
    expect(Object.keys(bundle)).toEqual([
      'format',
      'madeAt',
      'machine',
      'runtime',
      'engines',
      'checks',
      'settings',
      'files',
    ])
    expect(bundle.runtime).toMatchObject({ hasAccount: true, time: { state: expect.any(String) } })
    expect(bundle.settings).toMatchObject({
      options: {
        'identity.store': '<set>',
        'runtime.log.level': 'debug',
        'runtime.identity.enrolmentCode': '<set>',
      },
    })
  })

  it('shows what is in it, and that nothing was sent', async () => {
    const { out, file } = await makeBundle()
    expect(out).toContain('Nothing was sent')
    for (const section of ['machine', 'runtime', 'engines', 'checks', 'settings', 'files'])
      expect(out).toMatch(new RegExp(`^  ${section} +\\d+ bytes  \\w`, 'm'))
    const again = await runCliHere(['support', 'bundle', '-o', file], env)
    expect(again).toMatchObject({ code: 2, errors: expect.stringContaining('not overwritten') })
  })

  it('with logs contains what services wrote, and still no secret and no control sequence', async () => {
    const { text } = await makeBundle('--with-logs')
    const bundle = JSON.parse(text) as Record<string, Record<string, { lines: string[] }>>
    const lines = bundle['logs of services']!.careless!.lines.join('\n')
    expect(lines).toContain('secret <redacted>')
    expect(lines).toContain('caller')
    expect(findIn(text)).toEqual([])
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]|\\u001b|\\u202e/)
  })

  it('with logs contains no part of a key, no short secret and no secret of an earlier revision', async () => {
    const pem = [
      '-----BEGIN PRIVATE KEY-----',
      'MIGHAgEAMBMGByqGSM49',
      'AgEGCCqGSM49AwEHBG0w',
      '-----END PRIVATE KEY-----',
    ]
    const writes = (word: string) =>
      `export default { fetch(request, env) { console.log('${word} ' + env.KEY); console.log(env.PIN); return new Response('x') } }`
    const call = async (name: string) =>
      expect(
        (await services.call(`/${services.developer.clientId}/${name}`, { token: services.token })).status,
      ).toBe(200)
    await services.deploy('once', writes('once'), { KEY: pem.join('\n'), PIN: 'q7Rt2xZ' })
    await call('once')
    await services.deploy('twice', writes('twice'), { KEY: 'former-Wd5gJk8sLp3v', PIN: 'b8Nm4cV' })
    await call('twice')
    await services.deploy('twice', writes('twice'), { KEY: 'x', PIN: 'y' })
    const { text } = await makeBundle('--with-logs')
    for (const secret of [...pem.slice(1, 3), 'q7Rt2xZ', 'former-Wd5gJk8sLp3v', 'b8Nm4cV'])
      expect(text, secret).not.toContain(secret)
    const logs = (JSON.parse(text) as Record<string, Record<string, { lines?: string[]; leftOut?: string }>>)[
      'logs of services'
    ]!
    expect(logs.once!.lines!.join()).toContain('once <redacted>')
    expect(logs.twice).toMatchObject({ leftOut: expect.stringContaining('other revisions') })
  })

  it('replaces no link, and is complete or not there if the disk refuses a part of it', async () => {
    const { state } = services.stack
    const target = join(state, 'not-there')
    const link = join(state, 'link.json')
    symlinkSync(target, link)
    const linked = await runCliHere(['support', 'bundle', '-o', link], env)
    expect(linked).toMatchObject({ code: 2, errors: expect.stringContaining('not overwritten') })
    expect([existsSync(target), lstatSync(link).isSymbolicLink()]).toEqual([false, true])
    // A limit on the size of files ends a write in the middle, like a full disk.
    const file = join(state, 'cut.json')
    const limited = `ulimit -f 1; exec "$0" "$@"`
    const { status, stderr } = spawnSync(
      'bash',
      ['-c', limited, process.execPath, cliPath, 'support', 'bundle', '-o', file],
      { env, encoding: 'utf8' },
    )
    expect([status, existsSync(file)]).toEqual([1, false])
    expect(stderr).toContain('EFBIG')
  })

  it('is made without a runtime as well, and a failed one leaves no file', async () => {
    const file = join(services.stack.state, 'no-runtime.json')
    const { code } = await runCliHere(['support', 'bundle', '-o', file, '--url', 'http://127.0.0.1:9'], env)
    expect(code).toBe(0)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      runtime: { unavailable: expect.any(String) },
    })
    const before = readdirSync(services.stack.state).length
    const missing = await runCliHere(
      ['support', 'bundle', '-o', join(services.stack.state, 'no/such.json')],
      env,
    )
    expect(missing.code).toBe(2)
    expect(readdirSync(services.stack.state)).toHaveLength(before)
  })
})
