/** `oidc-provider` with the same custom grant: what a long-lived, certified implementation answers to the same request. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as jose from 'jose'
import Provider, { errors } from 'oidc-provider'

export interface OracleClient {
  readonly clientId: string
  readonly scope: string
}

export async function startOracle(
  issuer: string,
  clients: readonly OracleClient[],
): Promise<{ url: string; stop(): void }> {
  const keys = jose.createRemoteJWKSet(new URL('/jwks', issuer))
  const scopes = [...new Set(clients.flatMap(({ scope }) => scope.split(' ')))]
  const provider = new Provider('http://oracle.example', {
    scopes,
    clients: clients.map(({ clientId, scope }) => ({
      client_id: clientId,
      token_endpoint_auth_method: 'none' as const,
      grant_types: ['id_token_signin'],
      redirect_uris: [],
      response_types: [],
      scope,
    })),
    features: { devInteractions: { enabled: false } },
  })
  provider.registerGrantType(
    'id_token_signin',
    async (context) => {
      const { params, client } = context.oidc as unknown as {
        params: Record<string, string>
        client: { clientId: string; scope: string }
      }
      for (const name of ['id_token', 'edge_id_token', 'scope']) {
        if (!params[name]) throw new errors.InvalidRequest(`missing required parameter ${name}`)
      }
      for (const scope of params.scope!.split(' ')) {
        if (!client.scope.split(' ').includes(scope))
          throw new errors.InvalidScope('requested scope is not allowed', scope)
      }
      try {
        await jose.jwtVerify(params.id_token!, keys, { issuer, audience: client.clientId, typ: 'JWT' })
        await jose.jwtVerify(params.edge_id_token!, keys, { issuer, audience: issuer, typ: 'edge-id+jwt' })
      } catch (cause) {
        throw new errors.InvalidGrant((cause as Error).message)
      }
      context.body = { access_token: 'x', token_type: 'Bearer' }
    },
    ['id_token', 'edge_id_token', 'scope'],
  )
  const server: Server = createServer(provider.callback())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    stop: () => server.close(),
  }
}
