/** Leases and local tokens at every door: the listener of the runtime, the identity service, discovery, backends. Real programs. */
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createDiscoveryClient } from '@selvedge/client'
import { createAccessTokenVerifier } from '@selvedge/client/backend'
import { jwtBearerGrant, parseJws } from '@selvedge/protocol/tokens'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enterByLink, projectWith } from '../harness/console.ts'
import { adminOf, createProject, type Developer, runtimeOf } from '../harness/flow.ts'
import { createProofKey, type OAuthAnswer, post, postProven } from '../harness/oauth.ts'
import { startProgram } from '../harness/processes.ts'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
let developer: Developer
let lease: string
/** Of the identity service while it runs. */
let bound: string
let local: string
const key = createProofKey()
const identityUrl = () => services.stack.identity.url
const endpoint = () => `${services.url()}/token`

async function exchange(more: Record<string, string> = {}, of = developer): Promise<OAuthAnswer> {
  const form = {
    grant_type: 'id_token_signin',
    client_id: of.clientId,
    id_token: of.idToken,
    edge_id_token: (await runtimeOf(services.stack).getEdgeIdToken()).id_token,
    scope: 'openid edge:mcm',
    ...more,
  }
  return postProven(`${identityUrl()}/token`, form, key)
}
const offline = (clientId: string, maxDays: number, scopes: readonly string[]) =>
  adminOf(services.stack.state)['project.offline']({ clientId, maxDays, scopes: scopes as never })
const payloadOf = (token: string) => parseJws(token).payload

beforeAll(async () => {
  services = await startServices({ args: ['--revocations.interval=1'] })
  developer = services.developer
  await offline(developer.clientId, 30, ['openid', 'edge:mcm'])
  const { body } = await exchange()
  lease = body.lease!
  bound = body.access_token!
})
afterAll(() => services.stop())

describe('the identity service', () => {
  it('issues a lease beside a key-bound token of a node, bound to node, client and key', async () => {
    const { body } = await exchange()
    const { nodeId } = await services.runtime().getMe()
    expect(parseJws(body.lease!).header.typ).toBe('lease+jwt')
    expect(payloadOf(body.lease!)).toMatchObject({
      aud: `urn:selvedge:node:${nodeId}`,
      node_id: nodeId,
      client_id: developer.clientId,
      account_id: developer.accountId,
      cnf: { jkt: key.jkt },
      scope: 'openid edge:mcm',
      sid: developer.jti,
    })
  })

  it('gives a lease no scope that the project does not name, and no lease without one', async () => {
    const { body } = await exchange({ scope: 'openid edge:account:associate edge:clusters' })
    expect(payloadOf(body.lease!).scope).toBe('openid')
    expect((await exchange({ scope: 'edge:account:associate' })).body).not.toHaveProperty('lease')
  })

  it('gives no lease without a proof, and states that the project has leases', async () => {
    const edge = (await runtimeOf(services.stack).getEdgeIdToken()).id_token
    const { clientId, idToken } = developer
    const form = {
      grant_type: 'id_token_signin',
      client_id: clientId,
      id_token: idToken,
      edge_id_token: edge,
    }
    const { body } = await post(`${identityUrl()}/token`, { ...form, scope: 'openid edge:mcm' })
    expect(body).toMatchObject({ token_type: 'Bearer', lease_scope: 'openid edge:mcm' })
    expect(body).not.toHaveProperty('lease')
  })

  it('gives no lease for a project without leases, whatever its tokens are bound to', async () => {
    const other = { ...developer, ...(await createProject(services.stack.state, developer.email)) }
    const { body } = await exchange({}, other)
    expect(body.token_type).toBe('DPoP')
    expect(body).not.toHaveProperty('lease')
    expect(body).not.toHaveProperty('lease_scope')
  })

  it('gives a lease no longer than the project sets, nor than what it came from lives', async () => {
    const lifeOf = ({ body }: OAuthAnswer) => {
      const { iat, exp } = payloadOf(body.lease!) as { iat: number; exp: number }
      return [exp - iat, exp] as const
    }
    await offline(developer.clientId, 400, ['openid', 'edge:mcm'])
    const [, end] = lifeOf(await exchange())
    expect(end).toBe(payloadOf(developer.idToken).exp)
    await offline(developer.clientId, 1, ['openid', 'edge:mcm'])
    expect(lifeOf(await exchange())[0]).toBe(86_400)
    await offline(developer.clientId, 30, ['openid', 'edge:mcm'])
    lease = (await exchange()).body.lease!
  })

  it('gives a new lease with each refresh', async () => {
    const own = await createProject(services.stack.state, developer.email, {
      scopes: ['openid', 'edge:mcm', 'offline_access'],
    })
    const of = { ...developer, ...own }
    await offline(of.clientId, 10, ['edge:mcm'])
    const { body } = await exchange({ scope: 'openid edge:mcm offline_access' }, of)
    const form = { grant_type: 'refresh_token', client_id: of.clientId, refresh_token: body.refresh_token! }
    const again = await postProven(`${identityUrl()}/token`, form, key)
    expect(payloadOf(again.body.lease!)).toMatchObject({ scope: 'edge:mcm', sid: payloadOf(body.lease!).sid })
    expect(payloadOf(again.body.lease!).jti).not.toBe(payloadOf(body.lease!).jti)
  })

  it.each([
    ['0 days', 401, ['openid']],
    ['a scope of the account', 30, ['edge:account:associate']],
    ['refresh tokens', 30, ['offline_access']],
  ])('refuses settings with %s', async (_, days, scopes) => {
    await expect(offline(developer.clientId, days, scopes)).rejects.toMatchObject({
      reason: 'invalid_params',
    })
  })

  it('has the same setting in the console, and the audit log has it', async () => {
    const { link } = await adminOf(services.stack.state)['account.link']({ email: developer.email })
    const person = await enterByLink(identityUrl(), link, developer.email)
    const settings = { maxDays: 14, scopes: ['openid' as const] }
    const made = await person.api['project.create'](projectWith({ offline: settings }))
    expect(made.offline).toEqual(settings)
    const { clientId } = made
    const changed = await person.api['project.update']({ clientId, ...(projectWith({}) as object) } as never)
    expect(changed.offline).toEqual(settings)
    const shorter = projectWith({ offline: { ...settings, maxDays: 7 } }) as object
    await person.api['project.update']({ clientId, ...shorter } as never)
    const [last] = await person.api['audit.list']({ before: null })
    expect(last!.detail).toContain('14 days for openid → leases of at most 7 days for openid')
  })

  it('does not call a lease active, and accepts it as no other token', async () => {
    const own = { client_id: developer.clientId }
    expect((await post(`${identityUrl()}/introspect`, { token: lease, ...own })).body).toEqual({
      active: false,
    })
    const userinfo = await fetch(`${identityUrl()}/userinfo`, {
      headers: { Authorization: `Bearer ${lease}` },
    })
    expect(userinfo.status).toBe(401)
    for (const more of [{ id_token: lease }, { edge_id_token: lease }])
      expect((await exchange(more as never)).body.error).toBe('invalid_grant')
    const form = { grant_type: jwtBearerGrant, assertion: lease, ...own }
    expect((await postProven(`${identityUrl()}/token`, form, key)).body.error).toBe('unsupported_grant_type')
  })
})

/** A request as a hostile program or page sends it, with the headers as they are given. */
function send(
  headers: Record<string, string | string[]>,
  body: string | Buffer,
  method = 'POST',
): Promise<{ status: number; text: string; nonce: string | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request(endpoint(), { method, headers: headers as never, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('error', () => undefined)
      response.on('close', () =>
        resolve({ status: response.statusCode!, text, nonce: response.headers['dpop-nonce'] as string }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
const formType = { 'Content-Type': 'application/x-www-form-urlencoded' }
const nonce = async () => (await send({}, '')).nonce!
const proven = async () => ({ ...formType, DPoP: key.prove({ htu: endpoint(), nonce: await nonce() }) })
const formOf = (fields: Record<string, string>) => new URLSearchParams(fields).toString()
const leaseForm = () => formOf({ grant_type: jwtBearerGrant, assertion: lease })

describe('the token endpoint of a runtime', () => {
  it.each([
    ['a page of another site', { Origin: 'https://evil.example' }],
    ['a page in a sandbox', { Origin: 'null' }],
    ['a page that hides its origin', { 'Sec-Fetch-Site': 'cross-site' }],
    ['a page of the same site', { 'Sec-Fetch-Site': 'same-site' }],
    ['a page that is named by its referrer', { Referer: 'https://evil.example/x' }],
    ['a name that resolves here', { Host: 'evil.example' }],
    ['a name with our port', { Host: 'evil.example:8083' }],
  ])('refuses %s before it reads the form', async (_, headers) => {
    const answer = await send({ ...(await proven()), ...headers }, 'x'.repeat(100_000)).catch(() => ({
      status: 403,
    }))
    expect(answer.status).toBe(403)
  })

  it('refuses by its headers what is no form with a proof', async () => {
    expect((await send({}, '')).status).toBe(415)
    expect((await send({ 'Content-Type': 'application/json', DPoP: 'x' }, '{}')).status).toBe(415)
    expect((await send({ 'Content-Type': 'text/plain', DPoP: 'x' }, leaseForm())).status).toBe(415)
    expect((await send({ ...formType, DPoP: 'x' }, '', 'GET')).status).toBe(405)
    expect(await send(formType, leaseForm())).toMatchObject({
      status: 400,
      text: expect.stringContaining('invalid_dpop_proof'),
    })
    expect((await send({ ...formType, DPoP: ['x', 'y'] }, leaseForm())).status).toBe(400)
  })

  it.each([
    ['larger than 16 KiB', () => `assertion=${'x'.repeat(20_000)}`, 413],
    [
      'of 5,000 fields',
      () =>
        Array.from({ length: 5000 }, (_, at) => `f${at}=`)
          .join('&')
          .slice(0, 16_000),
      400,
    ],
    ['with a repeated field', () => `${leaseForm()}&assertion=x`, 400],
    ['with a repeated grant', () => `${leaseForm()}&grant_type=id_token_signin`, 400],
    ['without a lease', () => formOf({ grant_type: jwtBearerGrant }), 400],
    ['with an empty lease', () => `grant_type=${encodeURIComponent(jwtBearerGrant)}&assertion=`, 400],
    ['that is no form', () => 'x', 400],
    ['with a broken escape', () => 'assertion=%', 400],
    ['with bytes that are no text', () => Buffer.from([0x61, 0x3d, 0xff]), 400],
    ['with U+0000', () => 'grant_type=%00', 400],
    ['with 10,000 dots', () => formOf({ grant_type: jwtBearerGrant, assertion: '.'.repeat(10_000) }), 400],
    [
      'with nested JSON as a lease',
      () =>
        formOf({
          grant_type: jwtBearerGrant,
          assertion: `${Buffer.from('['.repeat(5000)).toString('base64url')}.e30.c2ln`,
        }),
      400,
    ],
  ])('refuses a form %s', async (_, body, status) => {
    const answer = await send(await proven(), body()).catch(() => ({ status: 413, text: '{"error":"x"}' }))
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.text)).toHaveProperty('error')
    expect((await fetch(`${services.url()}/healthz`)).status).toBe(200)
  })

  it('does not wait for a body that never comes', async () => {
    const { port } = new URL(services.url())
    const sockets = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const socket = connect(Number(port), '127.0.0.1')
        socket.on('error', () => undefined)
        socket.write(
          `POST /token HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/x-www-form-urlencoded\r\nDPoP: x\r\nContent-Length: 1000\r\n\r\na=`,
        )
        return socket
      }),
    )
    expect((await services.runtime().getMe()).nodeId).toMatch(/^[0-9a-f]{56}$/)
    for (const socket of sockets) socket.destroy()
  })

  it('refuses a lease while the identity service is reachable', async () => {
    // The runtime fetches the first list of revoked tokens after its start.
    const checkedAt = async () => (await services.runtime().getMe()).revocations?.checkedAt
    await expect.poll(checkedAt).toEqual(expect.any(String))
    const { text } = await send(await proven(), leaseForm())
    expect(JSON.parse(text)).toMatchObject({
      error: 'invalid_grant',
      error_description: expect.stringContaining('refresh'),
    })
  })

  it('leaves services with a path that begins alike alone, and names itself in getMe', async () => {
    const { offline } = await services.runtime().getMe()
    expect(offline).toEqual({ tokenEndpoint: endpoint(), leases: [] })
    expect((await fetch(`${services.url()}/tokens`)).status).toBe(404)
  })
})

describe('without the network', () => {
  /** @returns the status of a request with the local token */
  async function openContainers(): Promise<number> {
    const url = `${services.url()}/mcm/v1/containers`
    const proof = key.prove({ htm: 'GET', htu: url, accessToken: local, nonce: await nonce() })
    return (await fetch(url, { headers: { Authorization: `DPoP ${local}`, DPoP: proof } })).status
  }

  beforeAll(async () => {
    await services.stack.identity.stop('SIGKILL')
    const { text } = await send(await proven(), leaseForm())
    local = JSON.parse(text).access_token
  })

  it('a lease is exchanged over TCP and over the Unix socket, with the same address in the proof', async () => {
    expect(parseJws(local).header.typ).toBe('local-at+jwt')
    const headers = { ...(await proven()), Host: 'localhost' }
    const status = await new Promise((resolve, reject) => {
      const socketPath = join(services.stack.state, 'runtime.sock')
      const sent = request({ socketPath, path: '/token', method: 'POST', headers }, ({ statusCode }) =>
        resolve(statusCode),
      )
      sent.on('error', reject).end(leaseForm())
    })
    expect(status).toBe(200)
  })

  it('a request with another address in the proof is refused, whatever its Host header', async () => {
    const htu = endpoint().replace('127.0.0.1', 'localhost')
    const headers = { ...formType, Host: new URL(htu).host, DPoP: key.prove({ htu, nonce: await nonce() }) }
    expect(await send(headers, leaseForm())).toMatchObject({
      status: 400,
      text: expect.stringContaining('invalid_dpop_proof'),
    })
  })

  it('the local token opens a method with a proof, and nothing as a bearer token', async () => {
    expect(await openContainers()).toBe(200)
    const url = `${services.url()}/mcm/v1/containers`
    expect((await fetch(url, { headers: { Authorization: `Bearer ${local}` } })).status).toBe(401)
    expect((await fetch(url, { headers: { Authorization: `Bearer ${lease}` } })).status).toBe(401)
  })

  it('a local token and a lease of one runtime open nothing at another one', async () => {
    const { stack } = services
    const other = await startProgram('runtime', {
      SELVEDGE_STATE: join(stack.state, 'other'),
      SELVEDGE_RUNTIME_PORT: '0',
      SELVEDGE_IDENTITY_URL: stack.identity.url,
    })
    const form = { grant_type: jwtBearerGrant, assertion: lease }
    expect((await postProven(`${other.url}/token`, form, key)).body.error).toBe('invalid_grant')
    await expect(runtimeOf({ runtime: other }).getImages({ edgeAccessToken: local })).rejects.toMatchObject({
      reason: expect.stringMatching(/^token_/),
    })
    await other.stop()
  })

  it('discovery and a backend refuse a local token and a lease', async () => {
    const { nodeId } = await services.runtime().getMe()
    const discovery = createDiscoveryClient({ url: services.stack.discovery.url })
    const verifier = createAccessTokenVerifier({ issuer: identityUrl() })
    const request = {
      method: 'GET',
      url: 'https://backend.example/',
      proof: key.prove({ htm: 'GET', htu: 'https://backend.example/', accessToken: local }),
    }
    for (const token of [local, lease]) {
      await expect(discovery.lastFix(nodeId, token)).rejects.toMatchObject({ reason: 'invalid_token' })
      await expect(verifier.verify(`DPoP ${token}`, request)).rejects.toMatchObject({
        reason: expect.stringMatching(/^token_/),
      })
    }
  })

  it('the identity service and every exchange refuse a local token', async () => {
    const { stack } = services
    const again = await startProgram('identity', {
      SELVEDGE_STATE: stack.state,
      SELVEDGE_IDENTITY_PORT: new URL(stack.identity.url).port,
    })
    try {
      const own = { client_id: developer.clientId }
      expect((await post(`${again.url}/introspect`, { token: local, ...own })).body).toEqual({
        active: false,
      })
      for (const scheme of ['Bearer', 'DPoP'])
        expect(
          (await fetch(`${again.url}/userinfo`, { headers: { Authorization: `${scheme} ${local}` } })).status,
        ).toBe(401)
      for (const more of [
        { id_token: local },
        { edge_id_token: local },
        { grant_type: 'refresh_token', refresh_token: local },
        { grant_type: jwtBearerGrant, assertion: local },
      ])
        expect((await exchange(more as never)).body).toHaveProperty('error')
      expect(bound).toBeDefined()
      // What the cloud learns of the lease that was used changes nothing of that.
      expect((await post(`${again.url}/revoke`, { token: local, ...own })).status).toBe(200)

      expect(await openContainers()).toBe(200)
      // The holder of a lease may revoke it.
      expect((await post(`${again.url}/revoke`, { token: lease, ...own })).status).toBe(200)
      // The runtime has a list with the lease once it refuses what came from it: a list that it found to be the newest may be older.
      await expect.poll(openContainers).toBe(401)
    } finally {
      await again.stop()
    }
    await expect
      .poll(async () => JSON.parse((await send(await proven(), leaseForm())).text).error_description, {
        interval: 1000,
      })
      .toContain('revoked')
  })
})
