/** npm `oidc-provider` as the provider of a company, with a sign-in page of its own for a browser. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Provider from 'oidc-provider'

export interface CompanyOidcProvider {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /** Groups of a person, by the name with which the person signs in. */
  readonly groups: Map<string, string[]>
  /** Begins to serve: the redirect URI is known now. */
  register(redirectUri: string): void
  stop(): Promise<void>
}

const clientId = 'selvedge'
const clientSecret = 'a secret of the provider'

function makeProvider(url: string, redirectUri: string, groups: CompanyOidcProvider['groups']): Provider {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return new Provider(url, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' } as never] },
    cookies: { keys: ['a secret of the test'] },
    claims: { openid: ['sub', 'auth_time', 'groups'], email: ['email'], profile: [] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, email: `${sub}@corp.example`, groups: groups.get(sub) ?? [] }),
    }),
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session!.accountId! })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
}

const page = `<!doctype html><title>Corp</title><h1>Corp sign-in</h1>
<form method="post"><label>Name <input name="login"></label><button>Sign in at Corp</button></form>`

export async function startCompanyOidcProvider(): Promise<CompanyOidcProvider> {
  const groups: CompanyOidcProvider['groups'] = new Map()
  let provider: Provider | undefined
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url!.startsWith('/interaction/')) return provider!.callback()(request, response)
    if (request.method === 'GET') return response.setHeader('content-type', 'text/html').end(page)
    const accountId = new URLSearchParams(await text(request)).get('login') ?? ''
    return provider!.interactionFinished(request, response, { login: { accountId } })
  }
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    clientId,
    clientSecret,
    groups,
    register(redirectUri) {
      provider = makeProvider(url, redirectUri, groups)
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
