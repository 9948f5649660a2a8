/** An identity service as others see it: its keys and its signed list of revoked tokens, on the loopback interface. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import { revocationEntry, signJws } from '@selvedge/service-kit/tokens'

export async function startListedIssuer(clock: Clock) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const state = { isAway: false, revoked: [] as string[], seq: 1, lists: 0 }
  const server = createServer((request, response) => {
    const send = (type: string, body: string) => response.writeHead(200, { 'Content-Type': type }).end(body)
    if (state.isAway) return response.writeHead(500).end()
    if (request.url!.startsWith('/.well-known/'))
      return send(
        'application/json',
        JSON.stringify({ issuer: url, token_endpoint: url, jwks_uri: `${url}/jwks` }),
      )
    if (request.url === '/jwks') {
      const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' }
      return send('application/json', JSON.stringify({ keys: [jwk] }))
    }
    state.lists++
    const { revoked, seq } = state
    return send(
      'application/jwt',
      sign('revocations+jwt', {
        sub: url,
        aud: 'urn:selvedge:revocations',
        seq,
        mark: 'm',
        revoked,
        not_before: {},
      }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sign = (typ: string, claims: object): string => {
    const iat = seconds(clock)
    return signJws(
      { typ, kid: 'k' },
      { iss: url, jti: 'jti', iat, exp: iat + 600, sub: 'a', ...claims },
      privateKey,
    )
  }
  return {
    url,
    state,
    /** A token of this issuer, with times and a `jti` that claims may replace. */
    sign,
    /** Lists a token or sign-in as revoked from now on. @param id its `jti` or `sid` */
    revoke(id: string) {
      state.revoked.push(revocationEntry('id', id))
      state.seq++
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export type ListedIssuer = Awaited<ReturnType<typeof startListedIssuer>>
