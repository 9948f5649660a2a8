import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AdminInput } from '@selvedge/protocol/admin'
import { forge, readIssuerKeys } from '../../tests/attacks/forge.ts'
import { adminOf, createDeveloper, runtimeOf } from '../../tests/harness/flow.ts'
import { githubClaims, startOidcIssuer } from '../../tests/harness/oidc-issuer.ts'
import { startStack } from '../../tests/harness/processes.ts'
import { costRow, type Figures, perCpuSecond, type Row, type Server } from '../measure.ts'
import { unlimited } from './unlimited.ts'

/** Requests that differ, more than the service caches. */
const requests = 12_000
const scope = 'edge:mcm'
const rule: Omit<AdminInput<'issuer.add'>, 'clientId' | 'issuer' | 'audiences'> = {
  conditions: [
    { claim: 'repository', value: githubClaims.repository },
    { claim: 'sub', value: 'repo:octo-org/*' },
  ],
  scopes: [scope],
  as: 'workload',
  algorithms: ['RS256'],
  allowsPrivate: true,
}

/** id_token_signin with the ID token of a trusted issuer (RS256, claims of GitHub Actions) against the same with a developer ID token. */
export async function federatedRows(): Promise<Row[]> {
  const stack = await startStack({ identity: unlimited })
  const issuer = await startOidcIssuer()
  const { clientId, idToken } = await createDeveloper(stack.state)
  const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
  const keys = readIssuerKeys(stack.state)
  await adminOf(stack.state)['issuer.add']({ ...rule, clientId, issuer: issuer.url, audiences: [clientId] })
  const now = Math.floor(Date.now() / 1000)
  const claims = { ...githubClaims, aud: clientId, iat: now, exp: now + 3600 }
  const federated = (jti: string) => issuer.issue({ ...claims, jti })
  const developer = (jti: string) => forge(idToken, { name: '', expect: '', payload: { jti } }, keys)

  /** A file of requests. @param tokenOf ID token of a request */
  function write(name: string, tokenOf: (at: number) => string): string {
    const lines = Array.from({ length: requests }, (_, at) => {
      const edgeToken = forge(edge, { name: '', expect: '', payload: { jti: `${name}-${at}` } }, keys)
      return new URLSearchParams({
        client_id: clientId,
        grant_type: 'id_token_signin',
        id_token: tokenOf(at),
        scope,
        edge_id_token: edgeToken,
      })
    })
    const path = join(stack.state, name)
    writeFileSync(path, lines.join('\n'))
    return path
  }

  const contestant = (bodies: string): Server => ({
    process: stack.identity.process,
    target: { host: '127.0.0.1', port: Number(new URL(stack.identity.url).port) },
    asks: { bodies },
    stop: () => stack.identity.stop(),
  })
  const plan = { path: '/token', type: 'application/x-www-form-urlencoded', connections: 8 }

  async function compare(name: string, own: string, local: string): Promise<Row> {
    const contestants = [contestant(own), contestant(local)]
    const microseconds = (await perCpuSecond(contestants, { ...plan, bodies: own })).map((all) =>
      all.map((one) => 1e6 / one),
    )
    const [ours, peer] = microseconds as unknown as [Figures, Figures]
    const description = { name, unit: 'CPU µs', against: 'the same with a developer ID token' }
    return costRow(description, { ours, peer }, 1.15)
  }

  try {
    const [one, other] = [federated('one'), developer('one')]
    const rows = [
      await compare(
        'federated id_token_signin, one ID token for a fleet',
        write('federated-one', () => one),
        write('local-one', () => other),
      ),
      await compare(
        'federated id_token_signin, another ID token each time',
        write('federated-each', (at) => federated(`${at}`)),
        write('local-each', (at) => developer(`${at}`)),
      ),
    ]
    // The metadata and the keys, once: no request of the measurement led to another one.
    if (issuer.asked.length !== 2) throw new Error(`the issuer was asked for ${issuer.asked.join(', ')}`)
    return rows
  } finally {
    await issuer.stop()
    await stack.stop()
  }
}
