/** npm `oidc-provider` as an issuer of ID tokens, signed in to with npm `openid-client`: neither is ours. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SignatureAlgorithm } from '@selvedge/protocol/tokens'
import Provider from 'oidc-provider'
import * as client from 'openid-client'

const redirectUri = 'https://client.example/callback'
const algorithms: readonly SignatureAlgorithm[] = ['RS256', 'PS256', 'ES256', 'EdDSA']

/** Clients are named after the algorithm of their ID tokens. */
export interface PeerIssuer {
  readonly url: string
  /** Signs a person in with authorization code and PKCE. */
  signIn(algorithm: SignatureAlgorithm, accountId: string): Promise<string>
  stop(): Promise<void>
}

const makeKeys = () =>
  [
    ['RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['PS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['EdDSA', generateKeyPairSync('ed25519')],
  ].map(([alg, pair]) => ({
    ...(
      pair as ReturnType<typeof generateKeyPairSync> & { privateKey: { export(of: object): object } }
    ).privateKey.export({
      format: 'jwk',
    }),
    alg,
    use: 'sig',
  }))

function makeProvider(url: string): Provider {
  return new Provider(url, {
    clients: algorithms.map((each) => ({
      client_id: each,
      redirect_uris: [redirectUri],
      response_types: ['code' as const],
      grant_types: ['authorization_code'],
      token_endpoint_auth_method: 'none' as const,
      id_token_signed_response_alg: each,
    })),
    jwks: { keys: makeKeys() as never },
    enabledJWA: { idTokenSigningAlgValues: [...algorithms] },
    cookies: { keys: ['a secret of the test'] },
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, groups: ['deployers', 'people'] }),
    }),
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client!.clientId,
        accountId: oidc.session!.accountId!,
      })
      grant.addOIDCScope('openid groups')
      await grant.save()
      return grant
    },
  })
}

export async function startPeerIssuer(): Promise<PeerIssuer> {
  let provider: Provider | undefined
  let accountId = ''
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url!.startsWith('/interaction/')) return provider!.callback()(request, response)
    await provider!.interactionFinished(request, response, { login: { accountId } })
  }
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  provider = makeProvider(url)

  return {
    url,
    async signIn(algorithm, account) {
      accountId = account
      const options = {
        execute: [client.allowInsecureRequests],
        algorithm: 'oidc' as const,
      }
      const config = await client.discovery(
        new URL(url),
        algorithm,
        { id_token_signed_response_alg: algorithm },
        client.None(),
        options,
      )
      const pkceCodeVerifier = client.randomPKCECodeVerifier()
      const expectedNonce = client.randomNonce()
      const begin = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid groups',
        nonce: expectedNonce,
        code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
      })
      const callback = await followAsBrowser(begin)
      const tokens = await client.authorizationCodeGrant(config, callback, {
        pkceCodeVerifier,
        expectedNonce,
      })
      return tokens.id_token!
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Follows redirects with cookies until the client's own address. */
async function followAsBrowser(begin: URL): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = begin
  for (let steps = 0; !url.href.startsWith(redirectUri); steps++) {
    if (steps === 20) throw new Error(`${begin.origin} redirects again and again, now to ${url}`)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const each of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null)
      throw new Error(`${url} answered HTTP ${response.status}: ${await response.text()}`)
    url = new URL(location, url)
  }
  return url
}
