import { afterAll, beforeAll, expect, it } from 'vitest'
import { readEvents } from '../harness/event-reader.ts'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
beforeAll(async () => {
  services = await startServices({ env: { SELVEDGE_REVOCATIONS_INTERVAL: '1' } })
}, 120_000)
afterAll(() => services?.stop())

it('smoke', async () => {
  const all = 'account,fixes,containers,logs,nodes,connectivity,clock,notices'
  const reader = await readEvents(services.url(), services.token, `topics=${all}`)
  await expect.poll(() => reader.events.length).toBe(8)
  const edgeAccessToken = services.token
  await services
    .runtime()
    .updateGps({ edgeAccessToken, longitude: '1', latitude: '2', speed: '3', bearing: '4' })
  await expect.poll(() => reader.of('fixes').length).toBeGreaterThan(1)
  await services.deploy(
    'talk',
    'console.log("hi"); export default { fetch: () => { console.log("called"); return new Response("x") } }',
  )
  await expect.poll(() => JSON.stringify(reader.of('logs'))).toContain('hi')
  console.log(JSON.stringify(reader.events, undefined, 1), reader.headers)
  reader.close()
}, 60_000)
