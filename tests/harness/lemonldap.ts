/** Debian's LemonLDAP::NG, an OpenID provider in Perl, on the loopback interface with a configuration and sessions of the test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@selvedge/service-kit/testing'
import { vi } from 'vitest'
import { createPkce } from './app.ts'
import { issuerKeys } from './oidc-issuer.ts'
import { temporaryFolder } from './processes.ts'

const share = '/usr/share/lemonldap-ng/portal'
const clientId = 'selvedge'
const redirectUri = 'https://client.example/callback'

/** Where it finds its configuration. */
const placesOf = (folder: string) => `
[all]
logLevel = error
localSessionStorage = Cache::NullCache
[configuration]
type = File
dirName = ${folder}
localStorage = Cache::NullCache
[portal]
staticPrefix = /static
templateDir = ${share}/templates
languages = en
`

/** One client, and the users of the demonstration mode. */
const configurationOf = (folder: string, url: string) => ({
  cfgNum: 1,
  cfgAuthor: 'the test',
  cfgDate: 1,
  cfgVersion: '2.16.1',
  portal: url,
  domain: '127.0.0.1',
  cookieName: 'session',
  securedCookie: 0,
  key: 'a-key-of-this-test',
  authentication: 'Demo',
  userDB: 'Same',
  passwordDB: 'Null',
  registerDB: 'Null',
  demoExportedVars: { cn: 'cn', mail: 'mail', uid: 'uid' },
  requireToken: 0,
  whatToTrace: 'uid',
  locationRules: { '127.0.0.1': { default: 'accept' } },
  globalStorage: 'Apache::Session::File',
  globalStorageOptions: { Directory: join(folder, 'sessions'), LockDirectory: join(folder, 'locks') },
  issuerDBOpenIDConnectActivation: 1,
  issuerDBOpenIDConnectRule: 1,
  issuerDBOpenIDConnectPath: '^/oauth2/',
  oidcServicePrivateKeySig: issuerKeys.RS256.privateKey.export({ type: 'pkcs1', format: 'pem' }),
  oidcServicePublicKeySig: issuerKeys.RS256.publicKey.export({ type: 'spki', format: 'pem' }),
  oidcServiceKeyIdSig: 'key-1',
  oidcServiceAllowAuthorizationCodeFlow: 1,
  oidcServiceMetaDataAuthnContext: { 'loa-1': 1 },
  oidcRPMetaDataOptions: {
    client: {
      oidcRPMetaDataOptionsClientID: clientId,
      oidcRPMetaDataOptionsPublic: 1,
      oidcRPMetaDataOptionsRequirePKCE: 1,
      oidcRPMetaDataOptionsRedirectUris: redirectUri,
      oidcRPMetaDataOptionsBypassConsent: 1,
      oidcRPMetaDataOptionsIDTokenSignAlg: 'RS256',
      oidcRPMetaDataOptionsIDTokenExpiration: 3600,
      oidcRPMetaDataOptionsIDTokenForceClaims: 1,
    },
  },
  oidcRPMetaDataExportedVars: { client: { email: 'mail', name: 'cn' } },
})

export interface Lemonldap {
  /** URL of the issuer, which ends with a slash. */
  readonly issuer: string
  /** Signs a user of the demonstration mode in with authorization code and PKCE. @returns an ID token for the client `selvedge` */
  signIn(user: string): Promise<string>
  stop(): Promise<void>
}

async function signIn(issuer: string, user: string): Promise<string> {
  const entered = await fetch(issuer, {
    method: 'POST',
    body: new URLSearchParams({ user, password: user }),
    redirect: 'manual',
  })
  const cookie = entered.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')
  const { verifier, challenge } = createPkce()
  const request = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'openid email profile',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  const answer = await fetch(`${issuer}oauth2/authorize?${new URLSearchParams(request)}`, {
    headers: { cookie },
    redirect: 'manual',
  })
  const location = answer.headers.get('location') ?? ''
  const code = location.startsWith(redirectUri) ? new URL(location).searchParams.get('code') : null
  if (code === null)
    throw new Error(`LemonLDAP::NG did not sign ${user} in: HTTP ${answer.status} ${location}`)
  const form = {
    grant_type: 'authorization_code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code,
    code_verifier: verifier,
  }
  const tokens = await fetch(`${issuer}oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  return ((await tokens.json()) as { id_token: string }).id_token
}

export async function startLemonldap(): Promise<Lemonldap> {
  const folder = await temporaryFolder()
  const port = String(await freePort())
  const issuer = `http://127.0.0.1:${port}/`
  for (const name of ['sessions', 'locks']) mkdirSync(join(folder.path, name))
  const ini = join(folder.path, 'lemonldap-ng.ini')
  writeFileSync(ini, placesOf(folder.path))
  writeFileSync(join(folder.path, 'lmConf-1.json'), JSON.stringify(configurationOf(folder.path, issuer)))
  const args = ['--host', '127.0.0.1', '--port', port, `${share}/htdocs/index.psgi`]
  const env = { PATH: process.env.PATH, LLNG_DEFAULTCONFFILE: ini }
  const child = spawn('plackup', args, { env, stdio: 'ignore' })
  await vi.waitFor(() => fetch(`${issuer}oauth2/jwks`), { timeout: 120_000, interval: 100 })
  return {
    issuer,
    signIn: (user) => signIn(issuer, user),
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      await folder.remove()
    },
  }
}
