/** Attacks of the discovery service, by a client that is not a node of it. */
import { discoveryPaths } from '@selvedge/protocol'
import { type Attack, headOf, hold, json, pick, plan, send } from './send.ts'
import { forgedToken } from './tokens.ts'

const forged = () => ({
  Authorization: `${pick(['Bearer', 'DPoP', 'HMAC'])} ${forgedToken()}`,
  DPoP: forgedToken(),
})
const ask = (name: string, path: string, body?: string) =>
  send({
    name,
    method: body === undefined ? 'GET' : 'POST',
    url: plan.discovery + path,
    headers: { ...forged(), ...(body !== undefined && json) },
    ...(body !== undefined && { body }),
  })
const fixes = JSON.stringify(
  Array(100).fill({ longitude: 1, latitude: 1, speed: 1, bearing: 1, fixedAt: Number.MAX_SAFE_INTEGER }),
)
const statement = JSON.stringify({
  key: { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) },
  addresses: Array(16).fill('x'.repeat(100)),
  services: [],
})

export const discoveryAttacks: readonly Attack[] = [
  [5, () => ask('forged report', discoveryPaths.fixes, fixes)],
  [5, () => ask('forged session', discoveryPaths.sessions, statement)],
  [1, () => ask('deep JSON to discovery', discoveryPaths.sessions, '['.repeat(30_000))],
  [2, () => ask('nodes for nobody', `${discoveryPaths.nodes}?type=proximity&radius=${'9'.repeat(1000)}`)],
  [2, () => ask('track of a stranger', discoveryPaths.trackOf('../'.repeat(100)))],
  [
    1,
    () =>
      hold(
        'slow report',
        Number(new URL(plan.discovery).port),
        headOf(plan.discovery + discoveryPaths.fixes, 'POST', { ...json, 'Content-Length': '100000' }),
        'x',
      ),
  ],
]
