import { sign, verify } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forge, readIssuerKeys } from '../../tests/attacks/forge.ts'
import { createDeveloper, runtimeOf } from '../../tests/harness/flow.ts'
import { startStack } from '../../tests/harness/processes.ts'
import { costRow, type Figures, perCpuSecond, type Row, type Server, startPeer } from '../measure.ts'
import { unlimited } from './unlimited.ts'

/** Bodies that differ in both tokens, more than the service remembers, so that every signature is paid for. */
const distinct = 12_000
const scope = 'openid edge:mcm edge:clusters edge:account:associate'

/** id_token_signin against oidc-provider with the same grant, and against the cryptography that it can't do without. */
export async function tokenRows(): Promise<Row[]> {
  const stack = await startStack({ identity: unlimited })
  const { clientId, idToken } = await createDeveloper(stack.state)
  const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
  const keys = readIssuerKeys(stack.state)
  const edgeOf = (jti: string) => forge(edge, { name: '', expect: '', payload: { jti } }, keys)
  const developerOf = (jti: string) => forge(idToken, { name: '', expect: '', payload: { jti } }, keys)

  /** A file of requests with distinct edge ID tokens. @param developerToken of a request */
  function write(name: string, developerToken: (at: number) => string): string {
    const lines = Array.from({ length: distinct }, (_, at) => {
      const edgeToken = edgeOf(`${name}-${at}`)
      const tokens = { id_token: developerToken(at), edge_id_token: edgeToken }
      return new URLSearchParams({ client_id: clientId, grant_type: 'id_token_signin', scope, ...tokens })
    })
    const path = join(stack.state, name)
    writeFileSync(path, lines.join('\n'))
    return path
  }
  const distinctBodies = write('distinct', (at) => developerOf(`bench-${at}`))
  const fleetBodies = write('fleet', () => idToken)
  const ours: Server = {
    process: stack.identity.process,
    target: { host: '127.0.0.1', port: Number(new URL(stack.identity.url).port) },
    stop: () => stack.identity.stop(),
  }
  const jwks = await (await fetch(`${stack.identity.url}/jwks`)).json()
  const peer = await startPeer('oidc-provider.ts', [
    '',
    JSON.stringify({ issuer: stack.identity.url, clientId, jwks }),
  ])
  const plan = {
    path: '/token',
    type: 'application/x-www-form-urlencoded',
    bodies: distinctBodies,
    // However busy it is, the service accepts 32 requests at once. The device of the stack sends some of them.
    connections: 30,
  }
  const inFleet = (server: Server): Server => ({ ...server, asks: { bodies: fleetBodies } })
  try {
    const contestants = [ours, peer, () => limitOfCrypto(keys.active), inFleet(ours), inFleet(peer)]
    const microseconds = (await perCpuSecond(contestants, plan)).map((all) => all.map((one) => 1e6 / one))
    return rowsOf(microseconds)
  } finally {
    await peer.stop()
    await stack.stop()
  }
}

/** @param figures CPU microseconds a request: ours, the peer, the cryptography, then ours and the peer with one developer token */
function rowsOf([own, other, limit, ownFleet, otherFleet]: readonly (Figures | undefined)[]): Row[] {
  const unit = 'CPU µs'
  const name = 'id_token_signin'
  const against = 'oidc-provider with the same grant'
  const fleet = `${name}, one developer token for many devices`
  const limited = costRow({ name, unit, against: '' }, { ours: own!, peer: limit! }, 1 / 0.6)
  return [
    costRow({ name, unit, against }, { ours: own!, peer: other! }, 0.58),
    costRow({ name: fleet, unit, against }, { ours: ownFleet!, peer: otherFleet! }, 0.45),
    {
      ...limited,
      name: `${name}, share of it that is cryptography`,
      against: 'two verifications and one signature of node:crypto',
      ratio: 1 / limited.ratio,
      reach: 'ratio ≥ 0.6',
    },
  ]
}

/** Two verifications and one signature, as often as a CPU second allows. */
function limitOfCrypto({ privateKey, publicKey }: ReturnType<typeof readIssuerKeys>['active']): number {
  const data = Buffer.alloc(600, 'a')
  const signature = sign('sha256', data, privateKey)
  const before = process.cpuUsage()
  let count = 0
  for (const end = performance.now() + 1000; performance.now() < end; count++) {
    verify('sha256', data, publicKey, signature)
    verify('sha256', data, publicKey, signature)
    sign('sha256', data, privateKey)
  }
  const { user, system } = process.cpuUsage(before)
  return count / ((user + system) / 1e6)
}
