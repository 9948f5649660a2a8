/**
 * Legitimate callers. Most of the time they ask a few times a second; for five seconds of every twenty as often as answers come, so
 * that what they get can be compared with what they got alone.
 */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Counts, readPlan, sendCounts } from './plan.ts'

const plan = readPlan()
const timeoutMs = 10_000
const counts: Counts = {}
const count = (name: string) => {
  counts[name] = (counts[name] ?? 0) + 1
}
const agent = new Agent({ keepAlive: true })
let isWindow = false
process.on('message', (message: { window: boolean }) => {
  isWindow = message.window
})

interface Call {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly expected: string
}

function send({ url, method = 'POST', headers = {}, body, expected }: Call): Promise<string> {
  return new Promise((resolve) => {
    const asked = request(url, { method, headers, agent, timeout: timeoutMs }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () =>
        resolve(
          response.statusCode === 200 && text.includes(expected) ? 'ok' : `status ${response.statusCode}`,
        ),
      )
      response.on('error', () => resolve('cut off'))
    })
    asked.on('timeout', () => asked.destroy(new Error('timeout')))
    asked.on('error', (cause: NodeJS.ErrnoException) => resolve(cause.code ?? cause.message))
    asked.end(body)
  })
}

const rpc = (method: string, params: object): Call => ({
  url: `${plan.runtime}/jsonrpc/v1`,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  expected: '"result"',
})
const fix = { longitude: 11.5, latitude: 48.1, speed: 1, bearing: 2 }
const kinds: Readonly<Record<string, () => Promise<Call>>> = {
  getMe: async () => rpc('getMe', {}),
  updateGps: async () => rpc('updateGps', { edgeAccessToken: plan.token, ...fix }),
  gateway: async () => ({
    url: plan.runtime + plan.goodPath,
    method: 'GET',
    headers: { Authorization: `Bearer ${plan.token}` },
    expected: 'hello',
  }),
}

async function drive(name: string, call: () => Promise<Call>): Promise<never> {
  for (;;) {
    const outcome = await send(await call())
    count(outcome === 'ok' ? `${name} ok${isWindow ? ' window' : ''}` : `${name} ${outcome}`)
    if (!isWindow) await sleep(200)
  }
}

/** Twice a second, since the identity service counts tokens. */
async function exchange(): Promise<never> {
  for (;;) {
    const edge = await send({ ...rpc('getEdgeIdToken', {}), expected: 'id_token' })
    if (edge !== 'ok') count(`exchange ${edge}`)
    const asked = await fetch(`${plan.runtime}/jsonrpc/v1`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getEdgeIdToken' }),
      signal: AbortSignal.timeout(timeoutMs),
    })
      .then((answer) => answer.json() as Promise<{ result?: { id_token: string } }>)
      .catch(() => undefined)
    const form = {
      grant_type: 'id_token_signin',
      client_id: plan.clientId,
      id_token: plan.developerToken,
      edge_id_token: asked?.result?.id_token ?? '',
      scope: 'openid edge:mcm',
    }
    const outcome = await send({
      url: `${plan.identity}/token`,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
      expected: 'access_token',
    })
    count(outcome === 'ok' ? 'exchange ok' : `exchange ${outcome}`)
    await sleep(500)
  }
}

sendCounts(counts)
for (const [name, call] of Object.entries(kinds)) {
  void drive(name, call)
  void drive(name, call)
}
void exchange()
