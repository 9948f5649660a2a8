/** Debian's `glewlwyd`, an OpenID provider in C, on the loopback interface with a database of the test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { SignatureAlgorithm } from '@selvedge/protocol/tokens'
import { freePort } from '@selvedge/service-kit/testing'
import { vi } from 'vitest'
import { createPkce } from './app.ts'
import { issuerKeys } from './oidc-issuer.ts'
import { temporaryFolder } from './processes.ts'

const redirectUri = 'https://client.example/callback'
const modules = '/usr/lib/glewlwyd'
const schema = '/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3'

const configurationOf = (folder: string, url: string) => `
port = ${new URL(url).port}
bind_address = "127.0.0.1"
external_url = "${url}"
login_url = "login.html"
api_prefix = "api"
log_mode = "file"
log_level = "WARNING"
log_file = "${folder}/glewlwyd.log"
cookie_domain = "127.0.0.1"
cookie_secure = 0
session_expiration = 3600
session_key = "session"
admin_scope = "g_admin"
profile_scope = "g_profile"
user_module_path = "${modules}/user"
user_middleware_module_path = "${folder}/no-modules"
client_module_path = "${modules}/client"
user_auth_scheme_module_path = "${modules}/scheme"
plugin_module_path = "${modules}/plugin"
hash_algorithm = "SHA512"
database = { type = "sqlite3"; path = "${folder}/glewlwyd.db" };
`

/** An OpenID Connect plugin that signs with one algorithm; its name is a part of its URL. */
const pluginOf = (url: string, algorithm: SignatureAlgorithm) => ({
  module: 'oidc',
  name: algorithm,
  display_name: algorithm,
  order_rank: 0,
  parameters: {
    iss: `${url}/api/${algorithm}`,
    'jwks-private': JSON.stringify({
      keys: [
        {
          ...issuerKeys[algorithm].privateKey.export({ format: 'jwk' }),
          kid: `key-${algorithm}`,
          alg: algorithm,
        },
      ],
    }),
    'jwks-show': true,
    'subject-type': 'public',
    'access-token-duration': 3600,
    'refresh-token-duration': 3600,
    'code-duration': 60,
    'auth-type-code-enabled': true,
    'pkce-allowed': true,
    'allowed-scope': ['openid'],
    claims: [],
  },
})

const clientOfTest = {
  client_id: 'selvedge',
  name: 'selvedge',
  enabled: true,
  confidential: false,
  scope: [],
  redirect_uri: [redirectUri],
  authorization_type: ['code'],
  token_endpoint_auth_method: ['none'],
}

type Call = (path: string, method?: string, body?: object) => Promise<Response>

/** Calls its API with a session, or without one. @throws for a refusal */
const callerOf =
  (url: string, cookie = ''): Call =>
  async (path, method = 'GET', body) => {
    const response = await fetch(`${url}/api/${path}`, {
      method,
      redirect: 'manual',
      headers: { cookie, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (response.status < 400) return response
    throw new Error(
      `glewlwyd answered ${method} ${path} with HTTP ${response.status}: ${await response.text()}`,
    )
  }

async function signInAs(url: string, username: string, password: string): Promise<Call> {
  const response = await callerOf(url)('auth/', 'POST', { username, password })
  const cookies = response.headers.getSetCookie().map((each) => each.split(';')[0])
  return callerOf(url, cookies.join('; '))
}

export interface Glewlwyd {
  /** URL of the issuer of ID tokens with this algorithm. */
  issuerOf(algorithm: SignatureAlgorithm): string
  /** Signs its user in with authorization code and PKCE. @returns an ID token for the client `selvedge` */
  signIn(algorithm: SignatureAlgorithm): Promise<string>
  stop(): Promise<void>
}

/** The database as its package describes it: with an administrator, and without clients. */
function makeDatabase(folder: string): void {
  const database = new DatabaseSync(join(folder, 'glewlwyd.db'))
  database.exec(readFileSync(schema, 'utf8'))
  database.close()
}

/** Its user approves the client once, then signs in. @returns the ID token */
async function signIn(issuer: string, user: Call): Promise<string> {
  await user(`auth/grant/${clientOfTest.client_id}`, 'PUT', { scope: 'openid' })
  const { verifier, challenge } = createPkce()
  const request = {
    response_type: 'code',
    client_id: clientOfTest.client_id,
    redirect_uri: redirectUri,
    scope: 'openid',
    nonce: 'nonce-of-the-client',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    // Without it, the answer leads to the pages that show who signs in.
    g_continue: '',
  }
  const path = `${issuer.slice(issuer.lastIndexOf('/') + 1)}/auth?${new URLSearchParams(request)}`
  const location = (await user(path)).headers.get('location') ?? ''
  const code = location.startsWith(redirectUri) ? new URL(location).searchParams.get('code') : null
  if (code === null) throw new Error(`glewlwyd did not sign its user in: ${location}`)
  const form = {
    grant_type: 'authorization_code',
    client_id: clientOfTest.client_id,
    redirect_uri: redirectUri,
    code,
    code_verifier: verifier,
  }
  const response = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(form) })
  return ((await response.json()) as { id_token: string }).id_token
}

/** @param algorithms one issuer for each */
export async function startGlewlwyd(algorithms: readonly SignatureAlgorithm[]): Promise<Glewlwyd> {
  const folder = await temporaryFolder()
  const url = `http://127.0.0.1:${await freePort()}`
  makeDatabase(folder.path)
  const file = join(folder.path, 'glewlwyd.conf')
  writeFileSync(file, configurationOf(folder.path, url))
  const child = spawn('glewlwyd', ['--config-file', file], { stdio: 'ignore' })
  await vi.waitFor(() => fetch(`${url}/config`), { timeout: 120_000, interval: 100 })
  const administrator = await signInAs(url, 'admin', 'password')
  await administrator('client/', 'POST', clientOfTest)
  for (const each of algorithms) await administrator('mod/plugin/', 'POST', pluginOf(url, each))
  const user = { username: 'ada', password: 'a-password' }
  await administrator('user/', 'POST', { ...user, scope: ['openid', 'g_profile'] })
  const ada = await signInAs(url, user.username, user.password)
  const issuerOf = (algorithm: SignatureAlgorithm) => `${url}/api/${algorithm}`
  return {
    issuerOf,
    signIn: (algorithm) => signIn(issuerOf(algorithm), ada),
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      await folder.remove()
    },
  }
}
