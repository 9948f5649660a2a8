import { afterAll, beforeAll, expect, it } from 'vitest'
import { functionImage } from '../../harness/archives.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { counters, countThroughRedeploys } from './redeploys.ts'

/** `npm run reliability redeploys` makes 200 of each. */
const rounds = 6

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.stop())

it.each(Object.keys(counters) as (keyof typeof counters)[])(
  'a counter (%s) that is redeployed under load loses no acknowledged increment, and refuses none',
  async (kind) => {
    const counted = await countThroughRedeploys(services, kind, rounds)
    console.info(`${rounds} redeploys of a ${kind}:`, counted)
    expect(counted).toEqual({ acknowledged: counted.acknowledged, repeated: 0, lost: 0, refused: {} })
    expect(counted.acknowledged).toBeGreaterThan(rounds)
  },
)

const slow = `export default { async fetch(request, env, { storage }) {
  const { pathname } = new URL(request.url)
  if (pathname === '/slow') await new Promise((resolve) => setTimeout(resolve, 5000))
  if (pathname !== '/read') storage.setItem('last', env.ROUND + pathname)
  return new Response(storage.getItem('last'))
} }`

it('a request that outlasts the hand-over cannot write, and gets no answer that it was stored', async () => {
  const { id: image } = await services.deployImage(functionImage(slow, 'slow'))
  const deploy = (round: string) =>
    services.runtime().deployContainer({
      edgeAccessToken: services.token,
      spec: { name: 'slow', image, env: { ROUND: round } },
    })
  const { basePath } = await deploy('1')
  const late = services.call(`${basePath}/slow`)
  await services.call(`${basePath}/first`)
  await deploy('2')
  expect((await services.call(`${basePath}/read`)).text).toBe('1/first')
  expect((await services.call(`${basePath}/second`)).text).toBe('2/second')
  expect((await late).status).toBe(500)
  expect((await services.call(`${basePath}/read`)).text).toBe('2/second')
})

it('what a revision writes while its health is checked beside another one is not kept', async () => {
  const { id: image } = await services.deployImage(functionImage(slow, 'checked'))
  const deploy = (round: string) =>
    services.runtime().deployContainer({
      edgeAccessToken: services.token,
      spec: { name: 'checked', image, env: { ROUND: round, 'MCM.HEALTH_PATH': '/health' } },
    })
  const { basePath } = await deploy('1')
  expect((await services.call(`${basePath}/read`)).text).toBe('1/health')
  await services.call(`${basePath}/first`)
  await deploy('2')
  expect((await services.call(`${basePath}/read`)).text).toBe('1/first')
})
