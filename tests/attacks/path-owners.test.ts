/** A project that wants the callers of another project of its account: their bodies, and the tokens that they send. */
import type { RpcFailure } from '@selvedge/client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { functionImage, writeFile } from '../harness/archives.ts'
import { accessToken, createProject } from '../harness/flow.ts'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
let thief: string
let image: string
beforeAll(async () => {
  services = await startServices()
  const project = await createProject(services.stack.state, services.developer.email)
  thief = await accessToken(services.stack, project)
  const archive = functionImage('export default { fetch: () => new Response("stolen") }', 'thief')
  const source = writeFile(services.stack.state, 'thief.tar', archive)
  image = (await services.runtime().deployImage({ edgeAccessToken: thief, source })).id
})
afterAll(() => services?.stop())

/** The reason for which the project may not have a path. */
const refusal = (path: string) =>
  services
    .runtime()
    .deployContainer({
      edgeAccessToken: thief,
      spec: {
        name: 'thief',
        image,
        env: { 'MCM.BASE_API_PATH': path, 'MCM.API_ALIAS': 'true', 'MCM.FORWARD_TOKEN': 'true' },
      },
    })
    .then(
      () => 'deployed',
      (cause: RpcFailure) => cause.reason,
    )
const paths = ['/pay', '/pay/v1', '/pay/v1/login', '/pay/v1/login/deeper']
const refusals = async () => [...new Set(await Promise.all(paths.map(refusal)))]
const login = async () =>
  (await services.call('/api/pay/v1/login', { method: 'POST', body: 'password' })).text

it('gets no path at, above or below theirs: while they serve, are stopped or were removed, also after a restart', async () => {
  const { token } = services
  const { id } = await services.deploy('pay', 'export default { fetch: () => new Response("paid") }', {
    'MCM.BASE_API_PATH': '/pay/v1',
    'MCM.API_ALIAS': 'true',
    'MCM.ACCESS': 'client',
  })
  expect(await login()).toBe('paid')
  expect(await refusals()).toEqual(['conflict'])
  expect(await login()).toBe('paid')

  await services.runtime().stopContainer({ edgeAccessToken: token, id })
  expect(await refusals()).toEqual(['conflict'])
  expect(await login()).not.toContain('stolen')

  await services.runtime().removeContainer({ edgeAccessToken: token, id })
  expect(await refusals()).toEqual(['conflict'])
  await services.restart('SIGKILL')
  expect(await refusals()).toEqual(['conflict'])
  expect(await login()).not.toContain('stolen')

  // What belongs to no project is free, and the project itself comes back.
  expect(await refusal('/payments/v1')).toBe('deployed')
  await services.deploy('pay', 'export default { fetch: () => new Response("paid again") }', {
    'MCM.BASE_API_PATH': '/pay/v1',
    'MCM.API_ALIAS': 'true',
  })
  expect(await login()).toBe('paid again')
})
