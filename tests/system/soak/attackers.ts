/** Hostile callers: every attack at its rate, for as long as the soak lasts. */
import { randomBytes } from 'node:crypto'
import { discoveryAttacks } from './attacks/discovery.ts'
import { identityAttacks } from './attacks/identity.ts'
import { runtimeAttacks } from './attacks/runtime.ts'
import { type Attack, bearer, counts, form, headOf, hold, json, leave, pick, plan } from './attacks/send.ts'
import { sendCounts } from './plan.ts'

const urls = [plan.runtime, plan.identity, plan.discovery]
const portOf = (url: string) => Number(new URL(url).port)
const left = [
  [plan.identity, '/sign-in', 'GET'],
  [plan.identity, '/authorize', 'GET'],
  [plan.identity, '/par', 'POST'],
  [plan.identity, '/token', 'POST'],
  [plan.discovery, '/v1/sessions', 'POST'],
  [plan.discovery, '/v1/nodes', 'GET'],
  [plan.runtime, '/mcm/v1/uploads', 'POST'],
  [plan.runtime, plan.goodPath, 'GET'],
] as const
const slowPaths = ['/jsonrpc/v1', '/nothing', plan.goodPath, '/token']

/** What any listener may meet. */
const anywhere: readonly Attack[] = [
  [10, () => hold('garbage', portOf(pick(urls)), randomBytes(2000))],
  [2, () => hold('connection that says nothing', portOf(pick(urls)), '')],
  [
    100,
    () => {
      const [url, path, method] = pick(left)
      const headers = { ...bearer, ...(url === plan.identity ? form : json) }
      leave(`abandoned ${method} ${path}`, url + path, method, headers, method === 'POST' ? 'a=b' : '')
    },
  ],
  [1, () => hold('slow head', portOf(pick(urls)), 'GET / HTTP/1.1\r\nHost: x\r\n', 'X-A: b\r\n')],
  [
    2,
    () => {
      const url = pick(urls)
      const head = headOf(url + pick(slowPaths), 'POST', { ...json, 'Content-Length': '100000' })
      hold('slow body', portOf(url), head, 'x')
    },
  ],
]

const attacks = [...anywhere, ...runtimeAttacks, ...identityAttacks, ...discoveryAttacks]

sendCounts(counts)
const tickMs = 50
setInterval(() => {
  for (const [perSecond, attack] of attacks) if (Math.random() < (perSecond * tickMs) / 1000) attack()
}, tickMs)
