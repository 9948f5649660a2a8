/**
 * Every daemon at log level "debug", driven through all of its flows and through failures, with secrets that are known: none of
 * them is in what the daemons print, log or send to a collector, in the lines of the runtime in the log of a container, in `doctor`, or in an export.
 */
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createIdentityClient, createRuntimeClient } from '@selvedge/client'
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { functionImage, writeFile } from '../harness/archives.ts'
import { cliEnvOf } from '../harness/cli.ts'
import { runCliHere } from '../harness/cli-here.ts'
import { type ConsoleSession, enterByLink, projectWith } from '../harness/console.ts'
import { post } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'

const debug = ['--log.level=debug']
/** By what they are. */
const secrets: Record<string, string> = {
  password: 'three quiet herons at dusk',
  'wrong password': 'four loud gulls at noon!',
  'variable of a container': 'variable-Zk3vR8qLmT2w',
  'password in a URL': 'urlpass-Xc9bN4hYpQ7d',
}
/** A collector that records what the daemons export. */
interface Telemetry {
  readonly url: string
  text(): string
  stop(): void
}

async function recordTelemetry(): Promise<Telemetry> {
  let text = ''
  const server = createServer(async (request, response) => {
    for await (const chunk of request) text += chunk
    response.writeHead(200, { 'Content-Length': 0 }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    text: () => text,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const ofToken = (token: string): string => token.split('.')[2]!
const shown: Record<string, string> = {}

let stack: Stack
let telemetry: Telemetry
let owner: ConsoleSession
let token: string
let clientId: string

const runtime = () => createRuntimeClient({ url: stack.runtime.url, apiKey: secrets['API key']! })

async function signIn(): Promise<void> {
  const { url, ready } = stack.identity
  owner = await enterByLink(url, ready.setup!, 'ada@example.com')
  secrets['link of the first owner'] = ready.setup!.split('#')[1]!
  await owner.api['password.set']({ password: secrets.password! })
  const { codes } = await owner.api['recovery.create']()
  secrets['recovery code'] = codes[0]!
  secrets['session cookie'] = owner.cookie().split('=')[1]!
  secrets['link of an invitation'] = (await owner.api['member.invite']({ role: 'member' })).link.split(
    '#',
  )[1]!
  const made = await owner.api['project.create'](
    projectWith({
      scopes: ['openid', 'edge:mcm', 'edge:clusters', 'edge:account:associate', 'offline_access'],
    }),
  )
  clientId = made.clientId
  const { idToken } = await owner.api['token.create']({ clientId })
  secrets['developer ID token'] = ofToken(idToken)
  secrets['API key'] = readFileSync(join(stack.state, 'api-key'), 'utf8').trim()
  const { id_token: edgeIdToken } = await runtime().getEdgeIdToken()
  secrets['edge ID token'] = ofToken(edgeIdToken)
  const scope = 'openid edge:mcm edge:clusters edge:account:associate'
  const exchange = { clientId, developerIdToken: idToken, edgeIdToken, scope }
  token = (await createIdentityClient({ url }).exchange(exchange)).access_token
  secrets['access token'] = ofToken(token)
  const begun = (
    await post(`${url}/device_authorization`, { client_id: 'selvedge-cli', scope: 'openid offline_access' })
  ).body
  secrets['device code'] = begun.device_code!
  await owner.api['device_request.decide']({ userCode: begun.user_code!, approve: true })
  const grant = 'urn:ietf:params:oauth:grant-type:device_code'
  const form = { grant_type: grant, client_id: 'selvedge-cli', device_code: begun.device_code! }
  const { refresh_token: refreshToken = '' } = (await post(`${url}/token`, form)).body
  secrets['refresh token'] = ofToken(refreshToken)
  await post(`${url}/token`, { ...form, device_code: `${begun.device_code}x` })
  await post(`${url}/revoke`, { token: `${refreshToken}x` })
}

async function useRuntime(): Promise<void> {
  await runtime().associateAccount({ edgeAccessToken: token })
  const source = writeFile(
    `${stack.state}/archives`,
    'crash.tar',
    functionImage('throw new Error("x")', 'crash'),
  )
  const { id: image } = await runtime().deployImage({ edgeAccessToken: token, source })
  const env = { SETTING: secrets['variable of a container']! }
  await runtime()
    .deployContainer({ edgeAccessToken: token, spec: { name: 'crash', image, env } })
    .catch(() => undefined)
  await runtime()
    .deployImage({
      edgeAccessToken: token,
      source: `http://ada:${secrets['password in a URL']}@127.0.0.1:9/x`,
    })
    .catch(() => undefined)
  const works = `export default { fetch: (request) => new Response('x') }`
  const other = writeFile(`${stack.state}/archives`, 'works.tar', functionImage(works, 'works'))
  const { id: good } = await runtime().deployImage({ edgeAccessToken: token, source: other })
  await runtime().deployContainer({ edgeAccessToken: token, spec: { name: 'works', image: good, env } })
}

/** The same secrets in places that no program expects them in: paths, headers, broken bodies. */
async function misuse(): Promise<void> {
  const cookie = owner.cookie()
  for (const url of [stack.identity.url, stack.discovery.url, stack.runtime.url])
    for (const path of ['/', '/token', '/jsonrpc/v1', '/works/x', identityPaths.consoleApi])
      for (const [method, body] of [
        ['GET', null],
        ['POST', `{"password":"${secrets['wrong password']}", "token": "${token}"`],
        ['POST', `device_code=${secrets['device code']}&token=${token}`],
      ] as const)
        await fetch(`${url}${path}?access_token=${token}&password=${secrets.password}`, {
          method,
          body,
          headers: {
            Authorization: `Bearer ${token}`,
            Cookie: cookie,
            DPoP: token,
            'X-Request-Id': token,
            traceparent: token,
            'Content-Type': body?.startsWith('{') ? 'application/json' : 'application/x-www-form-urlencoded',
          },
        }).catch(() => undefined)
}

beforeAll(async () => {
  telemetry = await recordTelemetry()
  const observed = [...debug, `--otel.endpoint=${telemetry.url}`]
  stack = await startStack({
    runtime: [...observed, '--apiKey=true', '--metrics.listen=127.0.0.1:0'],
    identity: [...observed, '--log.format=pretty'],
    discovery: observed,
  })
  await signIn()
  await useRuntime()
  await misuse()
  const cli = (...args: string[]) => runCliHere(args, { ...cliEnvOf(stack), SELVEDGE_ACCESS_TOKEN: token })
  shown['container logs'] = (await cli('container', 'logs', 'works', '--json')).out
  shown.why = (await cli('why', 'crash', '--json')).out
  const doctor = await runCliHere(['doctor'], cliEnvOf(stack))
  shown.doctor = doctor.out + doctor.errors
  const audit = await owner.get(identityPaths.consoleAudit)
  shown.audit = await audit.text()
  // A cloud that is away: every part of the runtime says why it cannot go on.
  await stack.identity.stop()
  await stack.discovery.stop()
  await runtime()
    .getNodes({ edgeAccessToken: token, cluster: 'account' })
    .catch(() => undefined)
  await fetch(`${stack.runtime.url}/?token=${token}`).catch(() => undefined)
  await stack.runtime.stop()
  for (const name of ['identity', 'discovery', 'runtime'] as const) shown[name] = stack[name].errors()
  shown.telemetry = telemetry.text()
  for (const name of readdirSync(stack.state, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('crashes.json')) shown[name] = readFileSync(join(stack.state, name), 'utf8')
})
afterAll(async () => {
  await stack.stop()
  telemetry.stop()
})

it('every flow was driven, and every place has something in it', () => {
  expect(Object.keys(secrets)).toHaveLength(14)
  expect(Object.values(secrets).every((secret) => secret.length >= 8)).toBe(true)
  for (const place of ['why', 'doctor', 'audit', 'identity', 'runtime', 'discovery', 'telemetry'])
    expect(shown[place], place).not.toBe('')
  expect(shown.runtime).toContain('"level":"debug"')
  for (const name of ['identity', 'discovery', 'runtime'])
    expect(shown.telemetry).toContain(`selvedge-${name}`)
})

it('no secret is in what is printed, logged or exported', () => {
  const found = Object.entries(shown).flatMap(([place, text]) =>
    Object.entries(secrets)
      .filter(([, secret]) => text.includes(secret))
      .map(([what]) => `${what} in ${place}`),
  )
  expect(found).toEqual([])
})
