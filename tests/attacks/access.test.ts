/**
 * Every method, every REST route and a service, with every token that must not open it. What is expected comes from the
 * declarations alone: a new method is tested from the moment it is declared.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { identityPaths, methods, type Reason, rpcPath, type TokenAccess } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mcmRoutes } from '../../apps/runtime/src/api/mcm/routes.ts'
import { eventsRoutes } from '../../apps/runtime/src/api/rest/events-routes.ts'
import { nodesRoutes } from '../../apps/runtime/src/api/rest/nodes-routes.ts'
import { accessToken, createDeveloper } from '../harness/flow.ts'
import { type Program, startProgram, temporaryFolder } from '../harness/processes.ts'
import { sampleOf } from '../harness/samples.ts'
import { randomOf } from '../harness/seed.ts'
import { callUrl, type Services, startServices } from '../harness/services.ts'
import { forge, readIssuerKeys } from './forge.ts'

const random = randomOf('access')

/** A token that must not open anything, or only what asks for less; the reason of its refusal. */
interface Case {
  readonly token: () => string
  readonly reason: Reason
  /** Whether what a method declares asks for what the token lacks. Default: always. */
  readonly applies?: (access: TokenAccess) => boolean
}

let services: Services
/** A runtime of no account, with the tokens of its own node. */
let alone:
  | undefined
  | { runtime: Program; token: string; folder: Awaited<ReturnType<typeof temporaryFolder>> }
let revoked: string
const forged = (payload: Record<string, unknown>) =>
  forge(services.token, { name: '', payload, expect: '' }, readIssuerKeys(services.stack.state))
const isAssociated = ({ token }: TokenAccess) => token === 'associated'

const cases: Readonly<Record<string, Case>> = {
  'no token': { token: () => '', reason: 'token_missing' },
  'a malformed token': { token: () => 'a.b', reason: 'token_malformed' },
  'an expired token': {
    token: () => forged({ iat: '$now-7200', exp: '$now-3600' }),
    reason: 'token_expired',
  },
  'a revoked token': { token: () => revoked, reason: 'token_revoked' },
  'a token for another node': { token: () => forged({ node_id: 'b'.repeat(56) }), reason: 'wrong_node' },
  'a token of another account': {
    token: () =>
      forged({
        account_id: random.bytes(16).toString('hex'),
        client_id: random.bytes(16).toString('hex'),
        azp: null,
      }),
    reason: 'wrong_account',
    applies: isAssociated,
  },
  'a token of another account with the same client': {
    token: () => forged({ account_id: random.bytes(16).toString('hex') }),
    reason: 'wrong_account',
    applies: isAssociated,
  },
  'a token without a scope': {
    token: () => forged({ scope: 'openid' }),
    reason: 'insufficient_scope',
    applies: ({ scope }) => scope !== undefined,
  },
  'a key-bound token without a proof': {
    token: () => forged({ cnf: { jkt: 'A'.repeat(43) } }),
    reason: 'invalid_dpop_proof',
  },
}

beforeAll(async () => {
  services = await startServices({ args: ['--revocations.interval=1'] })
  const { stack, developer } = services
  await services.deploy('hello', 'export default { fetch: () => new Response("hello") }')
  revoked = await accessToken(stack, developer)
  await fetch(stack.identity.url + identityPaths.revoke, {
    method: 'POST',
    body: new URLSearchParams({ token: revoked, client_id: developer.clientId }),
  })
  while ((await reasonAt('getGps', sampleOf('getGps', revoked))) !== 'token_revoked') await sleep(50)
  alone = await startAlone()
})
afterAll(async () => {
  await alone?.runtime.stop()
  await alone?.folder.remove()
  await services?.stop()
})

async function startAlone() {
  const folder = await temporaryFolder()
  const { identity, discovery } = services.stack
  const runtime = await startProgram('runtime', {
    SELVEDGE_STATE: folder.path,
    SELVEDGE_RUNTIME_PORT: '0',
    SELVEDGE_IDENTITY_URL: identity.url,
    SELVEDGE_DISCOVERY_URL: discovery.url,
  })
  const developer = await createDeveloper(services.stack.state)
  return { runtime, folder, token: await accessToken({ identity, runtime }, developer) }
}

/** @returns the reason of the refusal, or `undefined` */
async function reasonAt(method: string, params: object, url = services.url()): Promise<string | undefined> {
  const response = await fetch(url + rpcPath, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { error } = (await response.json()) as { error?: { data: { reason: string } } }
  return error?.data.reason
}

const reasonOfHttp = (text: string): string =>
  (JSON.parse(text) as { error: { reason: string } }).error.reason

describe.each(Object.entries(cases))('%s', (_, { token, reason, applies = () => true }) => {
  const guarded = Object.values(methods).flatMap(({ name, access }) =>
    access.caller === 'token' && applies(access) ? [name] : [],
  )
  it.each(guarded)('is refused by %s', async (name) => {
    expect(await reasonAt(name, sampleOf(name, token()))).toBe(reason)
  })

  const tables = [mcmRoutes({} as never), nodesRoutes({} as never), eventsRoutes({} as never)]
  const routes = tables.flatMap(({ table }) =>
    Object.entries(table).flatMap(([key, { as }]) => (applies(as.access) ? [key] : [])),
  )
  it.each(routes)('is refused by %s', async (key) => {
    const [method = '', path = ''] = key.split(' ')
    const given = token() === '' ? null : token()
    const query = queries[path] ?? ''
    const { status, text } = await callUrl(services.url() + path.replace('{id}', 'x') + query, {
      method,
      token: given,
    })
    expect(reasonOfHttp(text)).toBe(reason)
    expect(status).toBe(reason === 'insufficient_scope' || reason.startsWith('wrong_') ? 403 : 401)
  })

  if (applies({ caller: 'token', token: 'associated' }))
    it('is refused by a service', async () => {
      const given = token() === '' ? null : token()
      const { clientId } = services.developer
      const { text } = await callUrl(`${services.url()}/${clientId}/hello`, { token: given })
      expect(reasonOfHttp(text)).toBe(reason)
    })
})

/** What a route needs before it checks the token; the local network is for everyone. */
const queries: Readonly<Record<string, string>> = {
  '/mds/v1/nodes': '?clusters=account',
  '/jsonrpc/v1/events': '?topics=clock',
}

/** Each route with the method that it is the twin of: the cases above take what they expect from the routes themselves. */
const twins: Readonly<Record<string, string>> = {
  'GET /mds/v1/nodes': 'getNodes',
  'GET /jsonrpc/v1/events': 'subscribe',
  'GET /mcm/v1/images': 'getImages',
  'POST /mcm/v1/images': 'deployImage',
  'GET /mcm/v1/images/{id}': 'getImages',
  'DELETE /mcm/v1/images/{id}': 'removeImage',
  'POST /mcm/v1/uploads': 'deployImage',
  'OPTIONS /mcm/v1/uploads': 'deployImage',
  'GET /mcm/v1/uploads/{id}': 'deployImage',
  'PATCH /mcm/v1/uploads/{id}': 'deployImage',
  'DELETE /mcm/v1/uploads/{id}': 'deployImage',
  'GET /mcm/v1/containers': 'getContainers',
  'POST /mcm/v1/containers': 'deployContainer',
  'GET /mcm/v1/containers/{id}': 'getContainers',
  'DELETE /mcm/v1/containers/{id}': 'removeContainer',
  'POST /mcm/v1/containers/{id}/start': 'startContainer',
  'POST /mcm/v1/containers/{id}/stop': 'stopContainer',
  'POST /mcm/v1/containers/{id}/redeploy': 'redeployContainer',
  'GET /mcm/v1/containers/{id}/logs': 'getContainerLogs',
  'GET /mcm/v1/containers/{id}/history': 'getContainerHistory',
  'GET /mcm/v1/apps': 'getApps',
  'POST /mcm/v1/apps': 'deployApp',
  'GET /mcm/v1/apps/{id}': 'getApps',
  'POST /mcm/v1/apps/{id}/start': 'startApp',
  'POST /mcm/v1/apps/{id}/stop': 'stopApp',
  'POST /mcm/v1/apps/{id}/redeploy': 'redeployApp',
  'POST /mcm/v1/apps/{id}/rollback': 'rollbackApp',
  'DELETE /mcm/v1/apps/{id}': 'removeApp',
}

it('no route borrows the access of another method than its own', () => {
  const tables = [mcmRoutes({} as never), nodesRoutes({} as never), eventsRoutes({} as never)]
  const named = tables.flatMap(({ table }) => Object.entries(table).map(([key, { as }]) => [key, as.name]))
  const mims = Object.entries(twins)
    .filter(([key]) => key.includes('/containers'))
    .map(([key, name]) => [key.replace('/containers', '/mims'), name])
  expect(Object.fromEntries(named)).toEqual({ ...twins, ...Object.fromEntries(mims) })
})

describe('without a token', () => {
  const nodes = (query: string) =>
    callUrl(`${services.url()}/mds/v1/nodes${query}`, { method: 'GET', token: null })

  it.each(['?clusters=account', '?clusters=proximity'])('%s is refused', async (query) => {
    const { status, text } = await nodes(query)
    expect({ status, reason: reasonOfHttp(text) }).toEqual({ status: 401, reason: 'token_missing' })
  })

  it.each(['', '?clusters=linkLocal', '?ping=true', '?clusters=linkLocal&ping=true&ping=1&x'])(
    '%j is about the local network, which is disabled here',
    async (query) => {
      const { status, text } = await nodes(query)
      expect({ status, reason: reasonOfHttp(text) }).toEqual({ status: 404, reason: 'not_found' })
    },
  )

  it('no other route answers', () => {
    const tables = [mcmRoutes({} as never), nodesRoutes({} as never), eventsRoutes({} as never)]
    const open = tables.flatMap(({ table }) =>
      Object.entries(table).flatMap(([key, { withoutToken }]) => (withoutToken ? [key] : [])),
    )
    expect(open).toEqual(['GET /mds/v1/nodes'])
  })
})

describe('a good token of a node that is associated with no account', () => {
  const guarded = Object.values(methods).flatMap(({ name, access }) =>
    access.caller === 'token' && isAssociated(access) ? [name] : [],
  )
  it.each(guarded)('is refused by %s', async (name) => {
    expect(await reasonAt(name, sampleOf(name, alone!.token), alone!.runtime.url)).toBe('not_associated')
  })
})

it('accepts a valid token for what its scope allows: the cases above are refused for what they lack', async () => {
  for (const name of ['getGps', 'getImages', 'getContainers', 'getLocationSharing'])
    expect({ name, reason: await reasonAt(name, sampleOf(name, services.token)) }).toMatchObject({ name })
  expect(await reasonAt('getImages', sampleOf('getImages', services.token))).toBeUndefined()
  expect((await services.call(`/${services.developer.clientId}/hello`)).text).toBe('hello')
})
