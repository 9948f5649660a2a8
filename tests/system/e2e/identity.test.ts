import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { createRuntimeClient, type RpcFailure } from '@selvedge/client'
import { createAccessTokenVerifier } from '@selvedge/client/backend'
import { publicJwk } from '@selvedge/protocol/tokens'
import { systemClock } from '@selvedge/service-kit/clock'
import { freePort } from '@selvedge/service-kit/testing'
import { createProof } from '@selvedge/service-kit/tokens'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessToken, adminOf, createDeveloper, runtimeOf } from '../../harness/flow.ts'
import {
  freePorts,
  type Program,
  type Stack,
  startProgram,
  startStack,
  temporaryFolder,
} from '../../harness/processes.ts'

const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => 'accepted',
    (cause: RpcFailure) => `${cause.reason}: ${cause.message}`,
  )

/** A further node of the same services. */
async function startNode(identity: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  const folder = await temporaryFolder()
  const runtime = await startProgram(
    'runtime',
    { SELVEDGE_STATE: folder.path, ...freePorts, SELVEDGE_IDENTITY_URL: identity, ...env },
    args,
  )
  return {
    runtime,
    folder,
    client: runtimeOf({ runtime }),
    stop: async () => {
      await runtime.stop()
      await folder.remove()
    },
  }
}

describe('one identity service', () => {
  let stack: Stack
  beforeAll(async () => {
    stack = await startStack()
  })
  afterAll(() => stack.stop())

  it('issues nothing to a blocked node, and everything again when the block is removed', async () => {
    const node = await startNode(stack.identity.url)
    const { nodeId } = await node.client.getMe()
    await node.client.getEdgeIdToken()
    const admin = adminOf(stack.state)
    await admin['node.block']({ nodeId })
    await node.runtime.stop()
    const again = await startProgram('runtime', {
      SELVEDGE_STATE: node.folder.path,
      ...freePorts,
      SELVEDGE_IDENTITY_URL: stack.identity.url,
    })
    expect(await reasonOf(runtimeOf({ runtime: again }).getEdgeIdToken())).toMatch(
      /^identity_unavailable: .*blocked/,
    )
    await admin['node.unblock']({ nodeId })
    expect(await reasonOf(runtimeOf({ runtime: again }).getEdgeIdToken())).toBe('accepted')
    await again.stop()
    await node.folder.remove()
  })

  it('checks the HMAC code of one node for another', async () => {
    const developer = await createDeveloper(stack.state)
    const maker = runtimeOf(stack)
    const token = await accessToken(stack, developer)
    await maker.associateAccount({ edgeAccessToken: token })
    const node = await startNode(stack.identity.url)
    const { nodeId } = await node.client.getMe()
    const expiry = String(Math.floor(Date.now() / 1000) + 60)
    const uri = 'jsapi://requestBep'
    const { edgeHmacCode } = await maker.getEdgeHmacCode({ edgeAccessToken: token, expiry, nodeId, uri })
    const verify = (more: object = {}) =>
      node.client.verifyEdgeHmacCode({ edgeHmacCode, nodeId, uri, ...more })
    expect(await verify()).toEqual({ valid: true, expiresAt: new Date(Number(expiry) * 1000).toISOString() })
    expect(await verify({ uri: '/other' })).toEqual({ valid: false, reason: 'wrong_uri' })
    expect(await verify({ nodeId: '0'.repeat(56) })).toEqual({ valid: false, reason: 'wrong_node' })
    expect(await verify({ edgeHmacCode: `${edgeHmacCode.slice(0, -1)}x` })).toEqual({
      valid: false,
      reason: 'invalid',
    })
    const unknown = edgeHmacCode.replace((await maker.getMe()).nodeId, '0'.repeat(56))
    expect(await verify({ edgeHmacCode: unknown })).toEqual({ valid: false, reason: 'invalid' })
    const late = maker.getEdgeHmacCode({ edgeAccessToken: token, expiry: '1', nodeId, uri })
    expect(await reasonOf(late)).toMatch(/^invalid_params: .*"expiry" is 1, which is in the past/)
    await node.stop()
  })

  it('answers no request about HMAC codes or fixes with a token alone, nor with the key of another node', async () => {
    const { id_token: stolen } = await runtimeOf(stack).getEdgeIdToken()
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
    for (const url of [`${stack.identity.url}/edge/hmac/verify`, `${stack.discovery.url}/v1/sessions`]) {
      const send = (headers: Record<string, string>) =>
        fetch(url, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', ...headers },
          body: '{}',
        })
      expect((await send({})).status).toBe(401)
      expect((await send({ Authorization: `Bearer ${stolen}` })).status).toBe(401)
      const without = await send({ Authorization: `DPoP ${stolen}` })
      expect(await without.json()).toMatchObject({ error: 'invalid_dpop_proof' })
      const nonce = without.headers.get('dpop-nonce')!
      const proof = createProof({
        key: privateKey,
        jwk,
        htm: 'POST',
        htu: url,
        clock: systemClock,
        nonce,
        accessToken: stolen,
        body: '{}',
      })
      expect(await (await send({ Authorization: `DPoP ${stolen}`, DPoP: proof })).json()).toMatchObject({
        error: 'invalid_token',
      })
    }
  })

  it('takes an account from a node only with a token for it', async () => {
    const developer = await createDeveloper(stack.state)
    const token = await accessToken(stack, developer)
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
    const url = `${stack.identity.url}/edge/token`
    const ask = async (account: object) => {
      let nonce: string | undefined
      for (;;) {
        const node = { name: 'liar', hmac_key: jwk, account } as never
        const DPoP = createProof({
          key: privateKey,
          jwk,
          htm: 'POST',
          htu: url,
          clock: systemClock,
          nonce,
          node,
        })
        const response = await fetch(url, { method: 'POST', headers: { DPoP } })
        const body = (await response.json()) as { error?: string; account_id?: string }
        if (body.error !== 'use_dpop_nonce') return body
        nonce = response.headers.get('dpop-nonce')!
      }
    }
    expect(await ask({ id: developer.accountId })).toMatchObject({ error: 'invalid_request' })
    expect(await ask({ id: developer.accountId, access_token: token })).toMatchObject({
      error: 'invalid_grant',
    })
    expect(await ask({ id: developer.accountId, access_token: 'x' })).toMatchObject({
      error: 'invalid_grant',
    })
    expect(await ask({ id: '' })).toMatchObject({ account_id: '' })
  })

  it('makes tokens that a backend accepts for its own resource, and follows its keys', async () => {
    const developer = await createDeveloper(stack.state)
    const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
    const exchange = async (resource?: string) => {
      const form = {
        client_id: developer.clientId,
        grant_type: 'id_token_signin',
        id_token: developer.idToken,
        edge_id_token: edge,
        scope: 'openid edge:mcm',
      }
      const body = new URLSearchParams({ ...form, ...(resource && { resource }) })
      return (
        (await (await fetch(`${stack.identity.url}/token`, { method: 'POST', body })).json()) as {
          access_token: string
        }
      ).access_token
    }
    const options = { issuer: stack.identity.url, audience: 'https://backend.example' }
    const verifier = createAccessTokenVerifier({ ...options, scope: 'edge:mcm' })
    const reason = (call: Promise<unknown>) =>
      call.then(
        () => 'accepted',
        ({ reason: why, status }) => `${why} ${status}`,
      )
    const good = await exchange('https://backend.example')
    expect(await verifier.verify(`Bearer ${good}`)).toMatchObject({
      account_id: developer.accountId,
      aud: ['urn:selvedge:edge', 'https://backend.example'],
    })
    expect(await reason(verifier.verify(await exchange()))).toBe('token_untrusted 401')
    expect(await reason(verifier.verify(undefined))).toBe('token_missing 401')
    expect(await reason(createAccessTokenVerifier({ ...options, scope: 'edge:clusters' }).verify(good))).toBe(
      'insufficient_scope 403',
    )
    expect(
      await reason(createAccessTokenVerifier({ ...options, issuer: 'http://127.0.0.1:9' }).verify(good)),
    ).toBe('token_untrusted 401')
    const away = createAccessTokenVerifier({
      ...options,
      fetch: async () => {
        throw new Error('away')
      },
    })
    expect(await reason(away.verify(good))).toBe('identity_unavailable 503')
    await adminOf(stack.state)['keys.rotate']()
    expect(await reason(verifier.verify(await exchange('https://backend.example')))).toBe('accepted')
    expect(await reason(verifier.verify(good))).toBe('accepted')
  })

  it('keeps everything over a restart, SIGKILL included', async () => {
    const folder = await temporaryFolder()
    const env = { SELVEDGE_STATE: folder.path, ...freePorts }
    const first = await startProgram('identity', env)
    const port = new URL(first.url).port
    const { clientId, jti } = await createDeveloper(folder.path)
    await adminOf(folder.path)['token.developer.revoke']({ jti })
    const keys = await (await fetch(`${first.url}/jwks`)).json()
    await first.stop('SIGKILL')
    const second = await startProgram('identity', { ...env, SELVEDGE_IDENTITY_PORT: port })
    expect(await (await fetch(`${second.url}/jwks`)).json()).toEqual(keys)
    expect(await adminOf(folder.path)['project.list']()).toMatchObject([{ clientId, active: true }])
    expect(await adminOf(folder.path)['token.developer.list']()).toMatchObject([
      { jti, revokedAt: expect.any(String) },
    ])
    await second.stop()
    await folder.remove()
  })
})

describe('enrolment by code', () => {
  it('lets a node in with a code, once, and the same node again', async () => {
    const stack = await startStack({ identity: ['--enrolment=code'] })
    const admin = adminOf(stack.state)
    expect(await reasonOf(runtimeOf(stack).getEdgeIdToken())).toMatch(
      /^identity_unavailable: .*enrolment needs a code/,
    )
    const { code } = await admin['enrolment.create']()
    const withCode = { SELVEDGE_ENROLMENT_CODE: code.toLowerCase() }
    const node = await startNode(stack.identity.url, [], withCode)
    expect(await reasonOf(node.client.getEdgeIdToken())).toBe('accepted')
    await node.runtime.stop()
    const again = await startProgram('runtime', {
      SELVEDGE_STATE: node.folder.path,
      ...freePorts,
      SELVEDGE_IDENTITY_URL: stack.identity.url,
    })
    expect(await reasonOf(runtimeOf({ runtime: again }).getEdgeIdToken())).toBe('accepted')
    await again.stop()
    const other = await startNode(stack.identity.url, [], withCode)
    expect(await reasonOf(other.client.getEdgeIdToken())).toMatch(/code is unknown, used or expired/)
    await other.stop()
    await node.folder.remove()
    await stack.stop()
  })
})

describe('cloud and tenant apart', () => {
  let cloud: Program
  let tenant: Program
  const folders: Awaited<ReturnType<typeof temporaryFolder>>[] = []
  afterAll(async () => {
    await cloud?.stop()
    await tenant?.stop()
    for (const folder of folders) await folder.remove()
  })

  it('run the whole exchange: each trusts the other in its role, and in no other', async () => {
    const here = { cloud: await temporaryFolder(), tenant: await temporaryFolder() }
    folders.push(here.cloud, here.tenant)
    // The two name each other: one of the ports has to be known before.
    const port = 18_484 + (process.pid % 1000)
    const cloudUrl = `http://127.0.0.1:${port}`
    tenant = await startProgram(
      'identity',
      { SELVEDGE_STATE: here.tenant.path, SELVEDGE_IDENTITY_PORT: '0' },
      ['--role=tenant', `--trustedEdgeIssuers=${cloudUrl}`],
    )
    cloud = await startProgram(
      'identity',
      { SELVEDGE_STATE: here.cloud.path, SELVEDGE_IDENTITY_PORT: String(port) },
      ['--role=cloud', `--edgeAudiences=${tenant.url}`, `--trustedTenants=${tenant.url}`],
    )
    const node = await startNode(cloud.url, [`--identity.tenants=${tenant.url}`])
    const developer = await createDeveloper(here.tenant.path)
    const token = await accessToken({ identity: tenant, runtime: node.runtime }, developer)
    expect(await node.client.associateAccount({ edgeAccessToken: token })).toEqual({
      accountId: developer.accountId,
    })
    const { id_token } = await node.client.getEdgeIdToken()
    expect(JSON.parse(atob(id_token.split('.')[1]!))).toMatchObject({
      iss: cloud.url,
      sub: developer.accountId,
      aud: [tenant.url],
    })
    expect(await adminOf(here.cloud.path)['node.list']()).toMatchObject([{ accountId: developer.accountId }])
    expect((await fetch(`${cloud.url}/token`, { method: 'POST' })).status).toBe(404)
    expect((await fetch(`${tenant.url}/edge/token`, { method: 'POST' })).status).toBe(404)
    await node.stop()
  })
})

it('the admin socket refuses web pages, and is no local API', async () => {
  const folder = await temporaryFolder()
  const identity = await startProgram('identity', { SELVEDGE_STATE: folder.path, ...freePorts })
  const { createNodeFetch } = await import('@selvedge/client/node')
  const overSocket = createNodeFetch({ socketPath: join(folder.path, 'admin.sock') })
  const send = (headers: Record<string, string>) =>
    overSocket('http://localhost/jsonrpc/v1', {
      method: 'POST',
      headers,
      body: '{"jsonrpc":"2.0","method":"keys.list","id":1}',
      signal: AbortSignal.timeout(5000),
      redirect: 'error',
    })
  expect((await send({ 'Content-Type': 'application/json', Origin: 'https://evil.example' })).status).toBe(
    403,
  )
  expect((await send({ 'Content-Type': 'text/plain' })).status).toBe(415)
  expect((await send({ 'Content-Type': 'application/json' })).status).toBe(200)
  const confused = createRuntimeClient({ url: 'http://localhost', fetch: overSocket })
  expect(await reasonOf(confused.getMe())).toMatch(/^method_not_found/)
  await identity.stop()
  await folder.remove()
})

it('an account that the identity service could not check is reported again, and confirmed then', async () => {
  const here = { cloud: await temporaryFolder(), tenant: await temporaryFolder() }
  const [tenantPort, cloudPort] = [await freePort(), await freePort()]
  const cloudUrl = `http://127.0.0.1:${cloudPort}`
  const startTenant = () =>
    startProgram(
      'identity',
      { SELVEDGE_STATE: here.tenant.path, SELVEDGE_IDENTITY_PORT: String(tenantPort) },
      ['--role=tenant', `--trustedEdgeIssuers=${cloudUrl}`],
    )
  let tenant = await startTenant()
  const startCloud = () =>
    startProgram('identity', { SELVEDGE_STATE: here.cloud.path, SELVEDGE_IDENTITY_PORT: String(cloudPort) }, [
      '--role=cloud',
      `--edgeAudiences=${tenant.url}`,
      `--trustedTenants=${tenant.url}`,
      '--revocations.interval=1',
      // A node asks for its token again each time: each ends within a minute.
      '--lifetime.edge=60',
    ])
  let cloud = await startCloud()
  const node = await startNode(cloud.url, [`--identity.tenants=${tenant.url}`])
  const developer = await createDeveloper(here.tenant.path)
  const token = await accessToken({ identity: tenant, runtime: node.runtime }, developer)
  // The cloud starts anew while the tenant is away: it has neither its keys nor a list that was confirmed.
  for (const program of [cloud, tenant]) await program.stop()
  cloud = await startCloud()
  await node.client.associateAccount({ edgeAccessToken: token })
  const accountOf = ({ id_token }: { id_token: string }) => JSON.parse(atob(id_token.split('.')[1]!)).sub
  expect(accountOf(await node.client.getEdgeIdToken())).toBe('')
  expect((await node.client.getMe()).notices).toMatchObject([{ reason: 'account_not_confirmed' }])
  tenant = await startTenant()
  await expect
    .poll(async () => accountOf(await node.client.getEdgeIdToken()), { interval: 500 })
    .toBe(developer.accountId)
  await expect.poll(async () => (await node.client.getMe()).notices ?? []).toEqual([])
  for (const program of [cloud, tenant]) await program.stop()
  await node.stop()
  for (const folder of [here.cloud, here.tenant]) await folder.remove()
})

it('an account that the identity service does not confirm leaves the node its token, with a notice', async () => {
  const here = { cloud: await temporaryFolder(), tenant: await temporaryFolder() }
  const cloudPort = 19_584 + (process.pid % 1000)
  const cloudUrl = `http://127.0.0.1:${cloudPort}`
  const tenant = await startProgram(
    'identity',
    { SELVEDGE_STATE: here.tenant.path, SELVEDGE_IDENTITY_PORT: '0' },
    ['--role=tenant', `--trustedEdgeIssuers=${cloudUrl}`],
  )
  // The cloud makes tokens for the tenant and does not believe it in return.
  const cloud = await startProgram(
    'identity',
    { SELVEDGE_STATE: here.cloud.path, SELVEDGE_IDENTITY_PORT: String(cloudPort) },
    ['--role=cloud', `--edgeAudiences=${tenant.url}`],
  )
  const node = await startNode(cloud.url, [`--identity.tenants=${tenant.url}`])
  const developer = await createDeveloper(here.tenant.path)
  const token = await accessToken({ identity: tenant, runtime: node.runtime }, developer)
  expect(await node.client.associateAccount({ edgeAccessToken: token })).toEqual({
    accountId: developer.accountId,
  })
  const { id_token } = await node.client.getEdgeIdToken()
  expect(JSON.parse(atob(id_token.split('.')[1]!))).toMatchObject({ iss: cloud.url, sub: '' })
  expect((await node.client.getMe()).notices).toMatchObject([{ reason: 'account_not_confirmed' }])
  for (const program of [cloud, tenant]) await program.stop()
  await node.stop()
  for (const folder of [here.cloud, here.tenant]) await folder.remove()
})
