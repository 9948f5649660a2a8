/** The examples of docs/services.md, run as they are. */
import { execFile, spawn } from 'node:child_process'
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { type Services, startServices } from '../../harness/services.ts'

const text = readFileSync(fileURLToPath(new URL('../../../docs/services.md', import.meta.url)), 'utf8')
const sectionOf = (all: string, heading: string): string => {
  const [, rest] = all.split(`\n${heading}\n`)
  if (rest === undefined) throw new Error(`docs/services.md has no section "${heading}"`)
  const marks = heading.split(' ', 1)[0]!
  return rest.split(new RegExp(`^#{1,${marks.length}} `, 'm'), 1)[0]!
}
const block = (section: string, language: string): string => {
  const [, found] = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(section) ?? []
  if (found === undefined) throw new Error(`an example has no block of ${language}`)
  return found
}
const example = (title: string) => {
  const section = sectionOf(sectionOf(text, '## Moving an existing service'), `### ${title}`)
  const env = JSON.parse(block(section, 'json')) as Record<string, string>
  return { env, source: block(section, 'js'), call: block(section, 'sh') }
}

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services?.stop())

/** Runs the call of an example. @returns the answer of the service, and its status */
async function run(call: string, variables: Record<string, string>) {
  const command = call.replaceAll('http://localhost:8083', services.url())
  expect(command).toContain(services.url())
  const env = { PATH: process.env.PATH, CLIENT_ID: services.developer.clientId, ...variables }
  const withStatus = command.replace('curl ', "curl -sS -w '\\n%{http_code}' ")
  const { stdout } = await promisify(execFile)('bash', ['-c', withStatus], { env })
  const at = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(at + 1)), text: stdout.slice(0, at) }
}

describe('the examples of "Moving an existing service"', needs('bash', 'curl'), () => {
  it('the gateway checks the token', async () => {
    const { env, source, call } = example('The gateway checks the token')
    await services.deploy('greeting', source, env)
    const { accountId } = await services.runtime().getMe()
    expect(await run(call, { TOKEN: services.token })).toEqual({ status: 200, text: `hello ${accountId}` })
    expect((await run(call, { TOKEN: 'x' })).status).toBe(401)
  })

  it('the service uses the token of its caller', async () => {
    const { env, source, call } = example('The service uses the token of its caller')
    await services.deploy('neighbours', source, env)
    const { status, text } = await run(call, { TOKEN: services.token })
    expect({ status, type: JSON.parse(text).type }).toEqual({ status: 200, type: 'account' })
    expect((await run(call, { TOKEN: 'x' })).status).toBe(401)
    await services.deploy('neighbours', source, { ...env, 'MCM.FORWARD_TOKEN': 'false' })
    const { nodeId } = await services.runtime().getMe()
    expect(text).toContain(nodeId)
    expect((await run(call, { TOKEN: services.token })).text).not.toContain(nodeId)
  })

  it('the service checks tokens of another issuer', async () => {
    const { env, source, call } = example('The service checks tokens of another issuer')
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const ISSUER_KEY = JSON.stringify(publicKey.export({ format: 'jwk' }))
    expect(Object.keys(JSON.parse(env.ISSUER_KEY!))).toEqual(['kty', 'crv', 'x', 'y'])
    await services.deploy('orders', source, { ...env, ISSUER_KEY })
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const tokenOf = (claims: object, alg = 'ES256', key = privateKey) => {
      const signed = `${part({ alg })}.${part(claims)}`
      const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
      return `${signed}.${signature.toString('base64url')}`
    }
    const claims = { sub: 'a customer', aud: env.AUDIENCE, exp: Math.floor(Date.now() / 1000) + 600 }
    expect(await run(call, { OTHER_TOKEN: tokenOf(claims) })).toEqual({
      status: 200,
      text: '{"orders":[],"of":"a customer"}',
    })
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    for (const wrong of [
      tokenOf({ ...claims, aud: 'x' }),
      tokenOf({ ...claims, exp: 1 }),
      tokenOf({ ...claims, exp: undefined }),
      tokenOf(claims, 'none'),
      tokenOf(claims, 'ES256', other),
      services.token,
      '',
      'a.b.c',
    ])
      expect((await run(call, { OTHER_TOKEN: wrong })).status, wrong).toBe(401)
  })

  it('the service has API keys of its own', async () => {
    const { env, source, call } = example('The service has API keys of its own')
    const key = randomUUID()
    const API_KEY_SHA256 = createHash('sha256').update(key).digest('hex')
    await services.deploy('meter', source, { ...env, API_KEY_SHA256 })
    expect(await run(call, { API_KEY: key })).toEqual({ status: 200, text: '{"watts":230}' })
    for (const API_KEY of ['', 'x', API_KEY_SHA256]) expect((await run(call, { API_KEY })).status).toBe(401)
  })
})

it('the forwarder for images that call localhost:8083 passes requests on to the socket', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-forward-'))
  const path = join(folder, 'host')
  const device = createServer((request, response) => void request.pipe(response)).listen(path)
  await once(device, 'listening')
  const source = block(sectionOf(text, '## A service calls its device'), 'js')
  // Any free port: other tests may use the usual one.
  expect(source).toContain(".listen(8083, '127.0.0.1')")
  const own = source.replace(
    '.listen(8083,',
    '.on("listening", function () { console.log(this.address().port) }).listen(0,',
  )
  const env = { PATH: process.env.PATH, SELVEDGE_SOCKET: path }
  const forwarder = spawn(process.execPath, ['--input-type=commonjs', '-e', own], { env })
  const [port] = await once(forwarder.stdout.setEncoding('utf8'), 'data')
  const url = `http://127.0.0.1:${Number(port)}/`
  const ask = async () => (await fetch(url, { method: 'POST', body: 'through' })).text()
  expect(await ask()).toBe('through')
  const gone = connect(Number(port), '127.0.0.1')
  await once(gone, 'connect')
  gone.resetAndDestroy()
  expect(await ask()).toBe('through')
  forwarder.kill()
  await once(forwarder, 'exit')
  device.closeAllConnections()
  device.close()
  rmSync(folder, { recursive: true })
})
