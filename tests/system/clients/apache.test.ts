/** Apache with Debian's mod_auth_openidc, a certified relying party, protects a page with the sign-in of this service. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { decide } from '../../harness/app.ts'
import { type ConsoleSession, enterByLink, projectWith } from '../../harness/console.ts'
import { needs } from '../../harness/installed.ts'
import { type Stack, startStack, temporaryFolder } from '../../harness/processes.ts'

const modules = '/usr/lib/apache2/modules'

const configurationOf = (
  folder: string,
  origin: string,
  issuer: string,
  { clientId, algorithm }: { clientId: string; algorithm: string },
) => `
ServerRoot "${folder}"
DefaultRuntimeDir "${folder}/run"
PidFile "${folder}/run/apache.pid"
ErrorLog "${folder}/error.log"
Mutex file:${folder}/run
ServerName 127.0.0.1
Listen ${new URL(origin).host}
User daemon
Group daemon
LoadModule mpm_event_module ${modules}/mod_mpm_event.so
LoadModule authn_core_module ${modules}/mod_authn_core.so
LoadModule authz_core_module ${modules}/mod_authz_core.so
LoadModule authz_user_module ${modules}/mod_authz_user.so
LoadModule headers_module ${modules}/mod_headers.so
LoadModule auth_openidc_module ${modules}/mod_auth_openidc.so
DocumentRoot "${folder}/pages"
OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID ${clientId}
OIDCProviderTokenEndpointAuth none
OIDCRedirectURI ${origin}/signed-in
OIDCCryptoPassphrase a-passphrase-of-this-test
OIDCPKCEMethod S256
OIDCIDTokenSignedResponseAlg ${algorithm}
OIDCScope "openid"
OIDCRemoteUserClaim email
<Location />
  AuthType openid-connect
  Require valid-user
  Header always set X-Sub "%{OIDC_CLAIM_sub}e"
  Header always set X-Account-Id "%{OIDC_CLAIM_account_id}e"
</Location>
`

/** One request as a browser sends it: `fetch` of Node.js adds the headers of a script. */
async function visit(url: string, cookie = '') {
  const request = get(url, { headers: { Accept: 'text/html', Cookie: cookie }, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const { headers, statusCode: status } = response
  const set = headers['set-cookie'] ?? []
  return {
    status,
    headers,
    location: headers.location ?? '',
    cookie: set.map((each) => each.split(';')[0]).join('; '),
    text: await text(response),
  }
}

describe.each(['ES256', 'RS256'])(
  'Apache with mod_auth_openidc that accepts %s alone',
  needs('apache2', 'root'),
  (algorithm) => {
    let stack: Stack
    let person: ConsoleSession
    let origin: string
    let folder: Awaited<ReturnType<typeof temporaryFolder>>
    let apache: ReturnType<typeof spawn>
    beforeAll(async () => {
      stack = await startStack()
      const { url, ready } = stack.identity
      person = await enterByLink(url, ready.setup!, 'ada@example.com')
      origin = `http://127.0.0.1:${await freePort()}`
      const { clientId } = await person.api['project.create'](
        projectWith({
          redirectUris: [`${origin}/signed-in`],
          postLogoutRedirectUris: [`${origin}/bye`],
          idTokenSignedResponseAlg: algorithm,
        }),
      )
      folder = await temporaryFolder()
      chmodSync(folder.path, 0o755)
      for (const name of ['run', 'pages']) mkdirSync(join(folder.path, name))
      chmodSync(join(folder.path, 'run'), 0o777)
      writeFileSync(join(folder.path, 'pages', 'index.html'), 'a protected page')
      const file = join(folder.path, 'apache.conf')
      writeFileSync(file, configurationOf(folder.path, origin, url, { clientId, algorithm }))
      execFileSync('apache2', ['-t', '-f', file], { stdio: 'pipe' })
      apache = spawn('apache2', ['-f', file, '-DFOREGROUND'], { stdio: 'ignore' })
      const isReady = async () => expect((await visit(origin)).status).toBe(302)
      await vi.waitFor(isReady, { timeout: 120_000, interval: 100 })
    })
    afterAll(async () => {
      if (apache?.exitCode === null) {
        apache.kill('SIGTERM')
        await once(apache, 'exit')
      }
      await stack?.stop()
      await folder?.remove()
    })

    it('sends the browser to the sign-in, accepts the answer and shows the page with the claims', async () => {
      const first = await visit(`${origin}/index.html`)
      const request = new URL(first.location)
      expect(request.searchParams.get('code_challenge_method')).toBe('S256')
      const second = await visit((await decide(person, request.search.slice(1))).href, first.cookie)
      const log = readFileSync(join(folder.path, 'error.log'), 'utf8')
      expect(second.status === 302 ? '' : log).toBe('')
      const page = await visit(second.location, second.cookie)
      expect(page.text).toBe('a protected page')
      const { personId, accountId } = (await person.api['session.get']()).viewer!
      expect(page.headers).toMatchObject({ 'x-sub': personId, 'x-account-id': accountId })
    })
  },
)
