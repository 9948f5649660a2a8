/** Apps over REST, through the daemon: what a program without JSON-RPC does with them, and what hostile requests get. */
import type { AppRecord } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { functionImage } from '../../harness/archives.ts'
import { accessToken, createDeveloper } from '../../harness/flow.ts'
import { type CallInit, type Services, startServices } from '../../harness/services.ts'

const apps = '/mcm/v1/apps'
const version = (text: string) => `export default { fetch: () => new Response(${JSON.stringify(text)}) }`

describe('apps over REST', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
    for (const each of ['one', 'two']) await services.deployImage(functionImage(version(each), each))
  })
  afterAll(() => services?.stop())

  const call = async (path: string, init: CallInit = {}) => {
    const { status, text, headers } = await services.call(path, init)
    return { status, headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  const post = (path: string, body?: unknown, init: CallInit = {}) =>
    call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...init,
    })
  const member = (name: string, image: string, dependsOn: object[] = []) => ({
    ...{ name, image, dependsOn, pull: 'never', platform: null, hostname: null, restart: 'always' },
    ...{ maxRestarts: null, needsInit: false, addCapabilities: [], dropCapabilities: [], networks: [] },
    ...{ volumes: [], secrets: [], configs: [], isBehindGateway: name === 'web' },
    env: {
      'MCM.IDLE_SEC': '0',
      ...(name === 'web' && { 'MCM.BASE_API_PATH': '/shop', 'MCM.ACCESS': 'public' }),
    },
  })
  const planOf = (image: string) => ({
    name: 'shop',
    services: [
      member('db', image),
      member('web', image, [{ service: 'db', condition: 'healthy', isRequired: true }]),
    ],
    ...{ networks: [], volumes: [], secrets: [], configs: [] },
  })
  const states = ({ members }: AppRecord) =>
    members.map(({ service, container }) => `${service} ${container?.state}`)
  const page = async () => (await services.call(`/${services.developer.clientId}/shop`)).text

  it('is deployed, listed, read, replaced, rolled back and redeployed', async () => {
    const { status, body } = await post(apps, planOf('one'))
    expect([status, body.revision, states(body)]).toEqual([200, 1, ['db running', 'web running']])
    expect((await call(apps)).body).toEqual({ data: [expect.objectContaining({ id: body.id, revision: 1 })] })
    expect((await call(`${apps}/shop`)).body).toMatchObject({ name: 'shop', revision: 1 })
    expect(await page()).toBe('one')
    const named = { plan: planOf('two'), secrets: [], pulls: [], deployment: 'second-time' }
    expect((await post(apps, named)).body.revision).toBe(2)
    expect(await page()).toBe('two')
    const back = await post(`${apps}/shop/rollback`)
    expect([back.status, back.body.revision, await page()]).toEqual([200, 3, 'one'])
    await post(`${apps}/shop/rollback`)
    expect(await page()).toBe('two')
    const again = await post(`${apps}/shop/redeploy`)
    expect([again.body.revision, states(again.body)]).toEqual([5, ['db running', 'web running']])
  })

  it('stays stopped when the runtime is killed, and is rolled back after that', async () => {
    expect(states((await post(`${apps}/shop/stop`)).body)).toEqual(['db stopped', 'web stopped'])
    await services.restart('SIGKILL')
    expect(states((await call(`${apps}/shop`)).body)).toEqual(['db stopped', 'web stopped'])
    expect(JSON.parse(await page()).error.reason).toBe('stopped')
    const container = await services.deploy('alone', version('alone'))
    await post(`/mcm/v1/containers/${container.id}/stop`)
    await services.restart('SIGKILL')
    expect((await call(`/mcm/v1/containers/${container.id}`)).body.state).toBe('stopped')
    expect((await post(`/mcm/v1/containers/${container.id}/redeploy`)).body.state).toBe('running')
    expect(states((await post(`${apps}/shop/start`)).body)).toEqual(['db running', 'web running'])
    await post(`${apps}/shop/rollback`)
    expect(await page()).toBe('one')
  })

  it('is not there for another account, and for another project', async () => {
    const other = await createDeveloper(services.stack.state)
    const token = await accessToken(services.stack, other)
    for (const each of ['start', 'stop', 'redeploy', 'rollback'])
      expect((await post(`${apps}/shop/${each}`, undefined, { token })).status).toBe(403)
    expect((await call(`${apps}/shop`, { token: null })).status).toBe(401)
  })

  it.each<[string, unknown, number]>([
    ['no JSON', '{', 400],
    ['a member twice', '{"plan":{},"plan":{}}', 400],
    ['deep nesting', '['.repeat(100_000), 400],
    ['no plan', 'null', 400],
    ['a list', [], 400],
    ['an unknown member', { ...planOf('one'), more: 1 }, 400],
    ['an unknown member beside the plan', { plan: planOf('one'), more: 1 }, 400],
    ['__proto__', '{"__proto__":{"name":"x"},"plan":null}', 400],
    ['a name that leads elsewhere', { ...planOf('one'), name: '../shop' }, 400],
    ['a secret without a plan for it', { plan: planOf('one'), secrets: [{ name: 'x', value: 'eA==' }] }, 400],
    ['a source that is a path', { plan: planOf('one'), pulls: [{ source: '/etc/passwd', name: 'x' }] }, 400],
    ['an image that is not there', planOf('none'), 404],
    ['too many bytes', `"${'x'.repeat(300 * 1024)}"`, 413],
  ])('refuses %s, and the app stays as it is', async (_, body, status) => {
    const refused = await post(apps, body)
    expect([refused.status, typeof refused.body.error.reason]).toEqual([status, 'string'])
    expect([(await call(apps)).body.data.length, await page()]).toEqual([1, 'one'])
  })

  it.each([
    ['GET', `${apps}/shop/rollback`, 405],
    ['PUT', `${apps}/shop`, 405],
    ['POST', `${apps}/none/rollback`, 404],
    ['POST', `${apps}/__proto__/redeploy`, 404],
    ['POST', `${apps}/${'x'.repeat(500)}/stop`, 404],
    ['POST', `${apps}/%2e%2e%2fshop/stop`, 404],
    ['POST', `${apps}/shop/rollback?force=true`, 400],
    ['DELETE', `${apps}/none`, 404],
  ])('%s %s is %i', async (method, path, status) => {
    expect((await call(path, { method })).status).toBe(status)
    expect(await page()).toBe('one')
  })

  it('is removed as one', async () => {
    expect((await call(`${apps}/shop`, { method: 'DELETE' })).body).toEqual({ name: 'shop' })
    expect((await call(`${apps}/shop`)).status).toBe(404)
    expect((await call(apps)).body).toEqual({ data: [] })
    expect((await post(`${apps}/shop/rollback`)).status).toBe(404)
  })
})
