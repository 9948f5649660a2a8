/** `oidc-provider` with the same grant: verifies both tokens with `jose`, mints a JWT access token (ES256, RFC 9068) in its way. */
import * as jose from 'jose'
import Provider, { errors } from 'oidc-provider'
import { listen } from './listen.ts'

const { issuer, clientId, jwks } = JSON.parse(process.argv[3]!) as {
  issuer: string
  clientId: string
  jwks: jose.JSONWebKeySet
}
const keys = jose.createLocalJWKSet(jwks)
const scope = 'openid edge:mcm edge:clusters edge:account:associate'
const audience = 'urn:selvedge:edge'
const allowed = new Set(scope.split(' '))
const revoked = new Set<string>()
const blocked = new Set<unknown>()
const { privateKey } = await jose.generateKeyPair('ES256', { extractable: true })
const resourceServer = {
  scope,
  audience,
  accessTokenTTL: 3600,
  accessTokenFormat: 'jwt' as const,
  jwt: { sign: { alg: 'ES256' as const } },
}

const provider = new Provider('http://provider.example', {
  scopes: scope.split(' '),
  jwks: { keys: [{ ...(await jose.exportJWK(privateKey)), alg: 'ES256', use: 'sig' } as never] },
  clients: [
    {
      client_id: clientId,
      token_endpoint_auth_method: 'none',
      grant_types: ['id_token_signin'],
      redirect_uris: [],
      response_types: [],
      scope,
      id_token_signed_response_alg: 'ES256',
    },
  ],
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: { enabled: true, getResourceServerInfo: () => resourceServer },
  },
  extraTokenClaims: (_context, token) => (token as never as { extra: object }).extra as never,
})
provider.registerGrantType(
  'id_token_signin',
  async (context) => {
    const { params, client } = context.oidc as never as {
      params: Record<string, string>
      client: { clientId: string }
    }
    try {
      const shared = {
        issuer,
        algorithms: ['ES256'],
        clockTolerance: 60,
        requiredClaims: ['jti', 'iat', 'exp', 'sub'],
      }
      const developer = await jose.jwtVerify(params.id_token!, keys, {
        ...shared,
        audience: client.clientId,
        typ: 'JWT',
      })
      const edge = await jose.jwtVerify(params.edge_id_token!, keys, {
        ...shared,
        audience: issuer,
        typ: 'edge-id+jwt',
      })
      if (revoked.has(developer.payload.jti!) || blocked.has(edge.payload.node_id)) throw new Error('revoked')
      for (const each of params.scope!.split(' ')) if (!allowed.has(each)) throw new Error('scope')
      const token = new provider.AccessToken({
        client: client as never,
        accountId: developer.payload.sub!,
        scope: params.scope!,
        gty: 'id_token_signin',
        resourceServer: new (
          provider as never as { ResourceServer: new (id: string, data: object) => never }
        ).ResourceServer(audience, resourceServer),
      } as never)
      Object.assign(token, {
        extra: { node_id: edge.payload.node_id, account_id: developer.payload.account_id },
      })
      const value = await token.save()
      context.body = {
        access_token: value,
        token_type: 'Bearer',
        expires_in: 3600,
        scope: params.scope,
        id_token: params.id_token,
      }
    } catch (cause) {
      throw new errors.InvalidGrant((cause as Error).message)
    }
  },
  ['id_token', 'edge_id_token', 'scope'],
)
process.argv.splice(2, 1, '')
listen(provider.callback())
