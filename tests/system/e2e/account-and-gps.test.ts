import { join } from 'node:path'
import {
  createDiscoveryClient,
  createRuntimeClient,
  type OAuthFailure,
  type RpcFailure,
} from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessToken, createDeveloper, type Developer, runtimeOf } from '../../harness/flow.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => 'accepted',
    (cause: RpcFailure | OAuthFailure) => cause.reason,
  )

let stack: Stack
let first: Developer
let second: Developer
const runtime = () => runtimeOf(stack)

beforeAll(async () => {
  stack = await startStack()
  first = await createDeveloper(stack.state)
  second = await createDeveloper(stack.state)
})
afterAll(() => stack.stop())

describe('an account', () => {
  it('is associated, stays so when associated again, and keeps another one out until it is removed', async () => {
    const token = await accessToken(stack, first)
    const other = await accessToken(stack, second)
    expect((await runtime().getMe()).accountId).toBe('')
    expect(await reasonOf(runtime().getGps({ edgeAccessToken: token }))).toBe('not_associated')

    expect(await runtime().associateAccount({ edgeAccessToken: token })).toEqual({
      accountId: first.accountId,
    })
    expect(await runtime().associateAccount({ edgeAccessToken: token })).toEqual({
      accountId: first.accountId,
    })
    expect((await runtime().getMe()).accountId).toBe(first.accountId)
    expect(await reasonOf(runtime().associateAccount({ edgeAccessToken: other }))).toBe('already_associated')
    expect(await reasonOf(runtime().updateGps({ ...somewhere, edgeAccessToken: other }))).toBe(
      'wrong_account',
    )
    expect(await reasonOf(runtime().unassociateAccount({ edgeAccessToken: other }))).toBe('wrong_account')
  })

  it('shows in the next edge ID token', async () => {
    const { id_token } = await runtime().getEdgeIdToken()
    expect(JSON.parse(atob(id_token.split('.')[1]!))).toMatchObject({
      sub: first.accountId,
      aud: [stack.identity.url],
    })
  })

  it('is not removed without the scope for it', async () => {
    const narrow = await accessToken(stack, first, 'openid edge:account:associate')
    expect(await reasonOf(runtime().unassociateAccount({ edgeAccessToken: narrow }))).toBe(
      'insufficient_scope',
    )
  })

  it('ends all its tokens when it is removed, and a new one right after works', async () => {
    const token = await accessToken(stack, first)
    const unused = await accessToken(stack, first)
    expect(await runtime().unassociateAccount({ edgeAccessToken: token })).toEqual({
      accountId: first.accountId,
    })
    expect((await runtime().getMe()).accountId).toBe('')
    for (const old of [token, unused]) {
      expect(await reasonOf(runtime().associateAccount({ edgeAccessToken: old }))).toBe('token_revoked')
      expect(await reasonOf(runtime().getGps({ edgeAccessToken: old }))).toBe('token_revoked')
    }
    const fresh = await accessToken(stack, first)
    expect(await runtime().associateAccount({ edgeAccessToken: fresh })).toEqual({
      accountId: first.accountId,
    })
  })
})

const somewhere = { longitude: '-123.1150', latitude: '49.2500', speed: '10.5', bearing: '350' }

describe('a location', () => {
  let token: string
  const discovery = () => createDiscoveryClient({ url: stack.discovery.url })
  beforeAll(async () => {
    token = await accessToken(stack, first)
  })

  it('is published before the answer says ok, and is given back as it was given', async () => {
    expect(await runtime().updateGps({ ...somewhere, edgeAccessToken: token })).toEqual({ status: 'ok' })
    expect(await runtime().getGps({ edgeAccessToken: token })).toMatchObject({
      ...somewhere,
      source: 'api',
      published: true,
    })
    const { nodeId } = await runtime().getMe()
    expect(await discovery().lastFix(nodeId, token)).toMatchObject({
      nodeId,
      accountId: first.accountId,
      longitude: -123.115,
      latitude: 49.25,
      speed: 10.5,
      bearing: 350,
    })
  })

  it('is not shown to another account', async () => {
    const { nodeId } = await runtime().getMe()
    expect(await reasonOf(discovery().lastFix(nodeId, await accessToken(stack, second)))).toBe('not_found')
    expect(await reasonOf(discovery().lastFix(nodeId, 'x.y.z'))).toBe('invalid_token')
  })

  it('may be numbers', async () => {
    const numbers = { longitude: 2.35, latitude: 48.85, speed: 0, bearing: 0 }
    expect(await runtime().updateGps({ ...numbers, edgeAccessToken: token })).toEqual({ status: 'ok' })
    expect(await runtime().getGps({ edgeAccessToken: token })).toMatchObject(numbers)
  })

  it.each([
    ['longitude', '180.0001'],
    ['longitude', '-180.0001'],
    ['latitude', '90.0001'],
    ['latitude', '-91'],
    ['speed', '-0.1'],
    ['bearing', '360'],
    ['bearing', '-1'],
  ])('with a %s of %s is refused, and the last one stays', async (name, value) => {
    const call = runtime().updateGps({ ...somewhere, [name]: value, edgeAccessToken: token })
    const failure = (await call.catch((cause: unknown) => cause)) as RpcFailure
    expect(failure.reason).toBe('invalid_params')
    expect(failure.message).toContain(`"${name}" is ${Number(value)}`)
    expect(failure.hint).toContain('edgeAccessToken, longitude, latitude, speed, bearing')
    expect(failure.hint).toContain('by-name')
    expect(await runtime().getGps({ edgeAccessToken: token })).toMatchObject({ longitude: 2.35 })
  })

  it.each(['180', '-180', '-0', '0.', '.5', '+1'])('may have a longitude of %s', async (longitude) => {
    expect(await runtime().updateGps({ ...somewhere, longitude, edgeAccessToken: token })).toEqual({
      status: 'ok',
    })
  })

  it('of the newest of a hundred calls at once is the one that stays', async () => {
    const calls = Array.from({ length: 100 }, (_, at) =>
      runtime().updateGps({ ...somewhere, speed: String(at), edgeAccessToken: token }),
    )
    expect((await Promise.all(calls)).every(({ status }) => status === 'ok')).toBe(true)
    const here = await runtime().getGps({ edgeAccessToken: token })
    const there = await discovery().lastFix((await runtime().getMe()).nodeId, token)
    expect({ speed: there.speed, fixedAt: there.fixedAt }).toEqual({
      speed: Number(here.speed),
      fixedAt: here.fixedAt,
    })
  })

  it('of a former account is shown to no other account', async () => {
    await runtime().unassociateAccount({ edgeAccessToken: token })
    const other = await accessToken(stack, second)
    await runtime().associateAccount({ edgeAccessToken: other })
    expect(await reasonOf(runtime().getGps({ edgeAccessToken: other }))).toBe('not_found')
  })
})

it('the Unix socket serves the same table', async () => {
  const socketPath = join(stack.state, 'runtime.sock')
  const overSocket = createRuntimeClient({ url: 'http://localhost', fetch: createNodeFetch({ socketPath }) })
  const { nodeId, supports } = await overSocket.getMe()
  expect({ nodeId, supports }).toMatchObject({ nodeId: (await runtime().getMe()).nodeId })
  expect(await overSocket['rpc.discover']()).toMatchObject({ methods: supports.map((name) => ({ name })) })
})

it('clients that send latitude first have a configuration of their own', async () => {
  const swapped = await startStack({
    runtime: ['--gps.positionalOrder=latitude-first', '--compat.flatGetMe=false'],
  })
  try {
    const developer = await createDeveloper(swapped.state)
    const token = await accessToken(swapped, developer)
    await runtimeOf(swapped).associateAccount({ edgeAccessToken: token })
    const call = async (method: string, params: unknown) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const headers = { 'Content-Type': 'application/json' }
      return (await fetch(`${swapped.runtime.url}/jsonrpc/v1`, { method: 'POST', headers, body })).json()
    }
    expect(await call('updateGps', [token, '49.25', '-123.1', '0', '0'])).toMatchObject({
      result: { status: 'ok' },
    })
    expect(await call('getGps', [token])).toMatchObject({
      result: { latitude: '49.25', longitude: '-123.1' },
    })
    expect(await call('updateGps', { edgeAccessToken: token, ...somewhere })).toMatchObject({
      result: { status: 'ok' },
    })
    expect(Object.keys((await call('getMe', [''])) as object)).toEqual(['id', 'jsonrpc', 'result'])
  } finally {
    await swapped.stop()
  }
})
