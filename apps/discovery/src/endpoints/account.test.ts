/** The streams of an account for the console of a tenant. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { discoveryPaths } from '@selvedge/protocol'
import { systemClock } from '@selvedge/service-kit/clock'
import { createHttpApp } from '@selvedge/service-kit/http-app'
import { createLog } from '@selvedge/service-kit/log'
import { afterEach, expect, it } from 'vitest'
import { addAccountEndpoints } from './account.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function serve(): Promise<{ url: string; watching: () => number }> {
  let watching = 0
  const app = createHttpApp(createLog({ service: 'discovery', level: 'error', now: Date.now }), 1024, {
    vital: [],
  })
  addAccountEndpoints(app, {
    store: {
      watch() {
        watching++
        return () => watching--
      },
    } as never,
    clock: systemClock,
    proof: () => ({ dpop: undefined as never, url: '' }),
    trust: {
      tenantVerifier: {
        verify: async () => ({ account_id: 'a', scope: 'edge:clusters', exp: systemClock.now() / 1000 + 60 }),
      },
      reasonAgainst: () => undefined,
      onRevocation: () => undefined,
      realms: { ofTenant: () => 'a' },
    } as never,
  })
  ends.push(() => app.close())
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), watching: () => watching }
}

function open(url: string): Promise<{ status: number; asked: ClientRequest }> {
  return new Promise((resolve, reject) => {
    const onResponse = (response: IncomingMessage) => {
      response.on('error', () => undefined)
      resolve({ status: response.statusCode!, asked })
    }
    const headers = { Authorization: 'Bearer x' }
    const asked = request(url + discoveryPaths.accountStream, { agent: false, headers }, onResponse)
    ends.push(() => asked.destroy())
    asked.on('error', reject).end()
  })
}

it('opens a hundred streams of one account, and another one when one of them has ended', async () => {
  const { url, watching } = await serve()
  const all = await Promise.all(Array.from({ length: 100 }, () => open(url)))
  expect(all.every(({ status }) => status === 200)).toBe(true)
  expect((await open(url)).status).toBe(429)
  all[0]!.asked.destroy()
  await expect.poll(async () => (await open(url)).status).toBe(200)
  expect(watching()).toBe(1)
})
