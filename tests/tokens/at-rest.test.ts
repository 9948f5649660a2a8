/** What an attacker finds in a copy of the identity service's database, without anything else. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, projectWith } from '../harness/console.ts'
import { accessToken, runtimeOf } from '../harness/flow.ts'
import { post } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'

const password = 'three quiet herons at dusk'

let stack: Stack
let owner: ConsoleSession
/** Every credential, by its kind. */
const secrets: Record<string, string> = {}
beforeAll(async () => {
  stack = await startStack()
  const { url, ready } = stack.identity
  owner = await enterByLink(url, ready.setup!, 'ada@example.com')
  secrets.password = password
  await owner.api['password.set']({ password })
  const { codes } = await owner.api['recovery.create']()
  secrets['recovery code'] = codes[0]!.replace('-', '')
  secrets['session cookie'] = owner.cookie().split('=')[1]!
  const { link } = await owner.api['member.invite']({ role: 'member' })
  secrets['invitation link'] = link.split('#')[1]!
  const { clientId } = await owner.api['project.create'](projectWith({ idTokenSignedResponseAlg: 'RS256' }))
  const { idToken } = await owner.api['token.create']({ clientId })
  secrets['developer ID token'] = idToken.split('.')[2]!
  const token = await accessToken(stack, { clientId, idToken }, 'openid edge:account:associate')
  secrets['access token'] = token.split('.')[2]!
  await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
  const begun = (
    await post(`${url}/device_authorization`, { client_id: 'selvedge-cli', scope: 'openid offline_access' })
  ).body
  secrets['device code'] = begun.device_code!
  await owner.api['device_request.decide']({ userCode: begun.user_code!, approve: true })
  const grant = 'urn:ietf:params:oauth:grant-type:device_code'
  const form = { grant_type: grant, client_id: 'selvedge-cli', device_code: begun.device_code! }
  secrets['refresh token'] = (await post(`${url}/token`, form)).body.refresh_token!.split('.')[2]!
})
afterAll(() => stack.stop())

it('finds no secret in its files', () => {
  const folder = join(stack.state, 'identity')
  const files = readdirSync(folder).filter((name) => name.startsWith('identity.db'))
  const content = files.map((name) => readFileSync(join(folder, name), 'latin1')).join('')
  expect(content).toContain('ada@example.com')
  expect(Object.entries(secrets).filter(([, secret]) => content.includes(secret))).toEqual([])
  expect(Object.keys(secrets)).toHaveLength(8)
})

it('finds keys and shared secrets encrypted', () => {
  const database = new DatabaseSync(join(stack.state, 'identity', 'identity.db'), { readOnly: true })
  const all = (statement: string) =>
    database
      .prepare(statement)
      .all()
      .map((row) => String(Object.values(row)[0]))
  const sealed = [
    ...all('SELECT private_jwk FROM signing_keys'),
    ...all('SELECT private_jwk FROM rsa_signing_keys'),
    ...all('SELECT value FROM settings'),
    ...all('SELECT hmac_secret FROM nodes'),
  ]
  database.close()
  expect(sealed.length).toBeGreaterThanOrEqual(7)
  expect(sealed.filter((text) => !/^v1\.[\w-]{50,}$/.test(text))).toEqual([])
})
