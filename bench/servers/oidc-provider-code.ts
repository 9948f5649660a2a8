/**
 * `oidc-provider` with authorization code and PKCE: an ID token and a JWT access token, both ES256, for a person who is signed in.
 * With a file for its database it stores what it has to know in SQLite, with the durability of the identity service.
 */
import * as jose from 'jose'
import Provider from 'oidc-provider'
import { listen } from './listen.ts'
import { sqliteAdapter } from './sqlite-adapter.ts'

const { clientId, redirectUri, database } = JSON.parse(process.argv[3]!) as {
  clientId: string
  redirectUri: string
  database?: string
}
const { privateKey } = await jose.generateKeyPair('ES256', { extractable: true })
const resource = 'urn:example:api'

const provider = new Provider('http://provider.example', {
  jwks: { keys: [{ ...(await jose.exportJWK(privateKey)), alg: 'ES256', use: 'sig' } as never] },
  ...(database !== undefined && { adapter: sqliteAdapter(database) }),
  clients: [
    {
      client_id: clientId,
      redirect_uris: [redirectUri],
      response_types: ['code'],
      grant_types: ['authorization_code'],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'ES256',
    },
  ],
  cookies: { keys: ['a secret of the measurement'] },
  claims: { openid: ['sub', 'email'] },
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'openid',
        accessTokenFormat: 'jwt' as const,
        accessTokenTTL: 3600,
        jwt: { sign: { alg: 'ES256' as const } },
      }),
    },
  },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  findAccount: (_, sub) => ({ accountId: sub, claims: async () => ({ sub, email: 'ada@example.com' }) }),
  async loadExistingGrant({ oidc }) {
    const id = oidc.session!.grantIdFor(clientId)
    if (id) return provider.Grant.find(id)
    const grant = new provider.Grant({ clientId, accountId: oidc.session!.accountId! })
    grant.addOIDCScope('openid')
    grant.addResourceScope(resource, 'openid')
    await grant.save()
    return grant
  },
})
const answer = provider.callback()
listen((request, response) => {
  if (!request.url!.startsWith('/interaction/')) return void answer(request, response)
  void provider.interactionFinished(request, response, { login: { accountId: 'ada' } })
})
