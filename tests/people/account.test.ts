/** What people of an account may do, and what is kept of it. */
import { setTimeout as pause } from 'node:timers/promises'
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, openConsole, projectWith, reasonOf } from '../harness/console.ts'
import { accessToken, adminOf, runtimeOf } from '../harness/flow.ts'
import { post } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
let owner: ConsoleSession
let member: ConsoleSession
beforeAll(async () => {
  stack = await startStack({ runtime: ['--revocations.interval=1'] })
  owner = await enterByLink(stack.identity.url, stack.identity.ready.setup!, 'ada@example.com')
  const { link } = await owner.api['member.invite']({ role: 'member' })
  member = await enterByLink(stack.identity.url, link, 'bob@example.com')
})
afterAll(() => stack.stop())

describe('an invitation', () => {
  it('brings one person into the account, with the role it was made for', async () => {
    expect(await owner.api['member.list']()).toMatchObject([
      { email: 'ada@example.com', role: 'owner' },
      { email: 'bob@example.com', role: 'member' },
    ])
  })

  it('signs no caller in as a known person', async () => {
    const { link } = await owner.api['member.invite']({ role: 'owner' })
    expect(await reasonOf(enterByLink(stack.identity.url, link, 'ada@example.com'))).toBe('conflict')
    // Not used up by that.
    expect(await reasonOf(enterByLink(stack.identity.url, link, 'eve@example.com'))).toBe('accepted')
  })

  it('works for one', async () => {
    const { link } = await owner.api['member.invite']({ role: 'member' })
    const tries = await Promise.all(
      Array.from({ length: 5 }, (_, at) =>
        reasonOf(enterByLink(stack.identity.url, link, `x${at}@example.com`)),
      ),
    )
    expect(tries.filter((each) => each === 'accepted')).toHaveLength(1)
  })
})

describe('a member', () => {
  it.each([
    ['invite', (api: ConsoleSession['api']) => api['member.invite']({ role: 'member' })],
    [
      'change roles',
      (api: ConsoleSession['api']) => api['member.set_role']({ personId: 'x', role: 'owner' }),
    ],
    ['remove people', (api: ConsoleSession['api']) => api['member.remove']({ personId: 'x' })],
    ['revoke everything', (api: ConsoleSession['api']) => api['account.revoke_all']()],
    ['block a device', (api: ConsoleSession['api']) => api['device.block']({ nodeId: 'a'.repeat(56) })],
    ['delete a project', (api: ConsoleSession['api']) => api['project.delete']({ clientId: 'x' })],
  ])('may not %s', async (_, attempt) => {
    expect(await reasonOf(attempt(member.api))).toBe('forbidden')
  })

  it('that is removed loses session, tokens and the tokens issued from them', async () => {
    const { clientId } = await owner.api['project.create'](projectWith({ name: 'of Bob' }))
    const { idToken } = await member.api['token.create']({ clientId })
    const token = await accessToken(stack, { clientId, idToken }, 'openid edge:mcm')
    const people = await owner.api['member.list']()
    const { personId } = people.find(({ email }) => email === 'bob@example.com')!
    await owner.api['member.remove']({ personId })
    expect(await reasonOf(member.api['project.list']())).toBe('signed_out')
    await expect(accessToken(stack, { clientId, idToken }, 'openid')).rejects.toThrow(/revoked/)
    const { body } = await post(`${stack.identity.url}/introspect`, { token, client_id: clientId })
    expect(body).toEqual({ active: false })
  })

  it('the last owner stays', async () => {
    const people = await owner.api['member.list']()
    for (const { personId, role } of people.filter(({ email }) => email !== 'ada@example.com')) {
      if (role === 'owner') await owner.api['member.set_role']({ personId, role: 'member' })
    }
    const { personId } = people.find(({ email }) => email === 'ada@example.com')!
    expect(await reasonOf(owner.api['member.set_role']({ personId, role: 'member' }))).toBe('conflict')
    expect(await reasonOf(owner.api['member.remove']({ personId }))).toBe('conflict')
  })
})

describe('what belongs to one account', () => {
  it('is not found by another', async () => {
    const { clientId } = await owner.api['project.create'](projectWith({ name: 'of Ada' }))
    const made = await owner.api['token.create']({ clientId })
    await adminOf(stack.state)['account.create']({ email: 'mallory@example.com' })
    const { link } = await adminOf(stack.state)['account.link']({ email: 'mallory@example.com' })
    const other = await enterByLink(stack.identity.url, link, 'mallory@example.com')
    const { nodeId } = await runtimeOf(stack).getMe()
    const { accountId } = (await owner.api['session.get']()).viewer!
    const attempts = [
      other.api['project.update']({ clientId, ...(projectWith({}) as object) } as never),
      other.api['project.dependents']({ clientId }),
      other.api['project.delete']({ clientId }),
      other.api['token.create']({ clientId }),
      other.api['token.revoke']({ jti: made.jti }),
      other.api['device.block']({ nodeId }),
      other.api['device.disassociate']({ nodeId }),
      other.api['sign_in.revoke']({ sid: 'x' }),
      other.api['session.switch']({ accountId }),
    ]
    expect(await Promise.all(attempts.map(reasonOf))).toEqual(attempts.map(() => 'not_found'))
    expect(await other.api['project.list']()).toEqual([])
    expect(await other.api['token.list']()).toEqual([])
  })
})

describe('a project', () => {
  it('changes what its next tokens are', async () => {
    const { clientId } = await owner.api['project.create'](projectWith({ name: 'changing' }))
    const { idToken } = await owner.api['token.create']({ clientId })
    expect(await accessToken(stack, { clientId, idToken }, 'openid edge:mcm')).toMatch(/^ey/)
    await owner.api['project.update']({
      clientId,
      ...(projectWith({ scopes: ['openid'], accessLifetime: 120 }) as object),
    } as never)
    await expect(accessToken(stack, { clientId, idToken }, 'openid edge:mcm')).rejects.toThrow(/may not ask/)
    const token = await accessToken(stack, { clientId, idToken }, 'openid')
    const { exp, iat } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
    expect(exp - iat).toBe(120)
  })

  it('that is deleted takes its tokens with it, on the device as well', async () => {
    const { clientId } = await owner.api['project.create'](projectWith({ name: 'short-lived' }))
    const { idToken } = await owner.api['token.create']({ clientId })
    const token = await accessToken(stack, { clientId, idToken }, 'openid edge:account:associate')
    expect(await owner.api['project.dependents']({ clientId })).toMatchObject({
      developerTokens: 1,
      signIns: 0,
    })
    await owner.api['project.delete']({ clientId })
    await expect(accessToken(stack, { clientId, idToken }, 'openid')).rejects.toThrow(/no active project/)
    const call = () => reasonOf(runtimeOf(stack).getGps({ edgeAccessToken: token }))
    for (let tries = 0; tries < 200 && (await call()) !== 'token_revoked'; tries++) await pause(50)
    expect(await call()).toBe('token_revoked')
  })
})

describe('a device', () => {
  it('is shown with version, services and location, and leaves the account when an owner disassociates it', async () => {
    const { clientId } = await owner.api['project.create'](projectWith({ name: 'devices' }))
    const { idToken } = await owner.api['token.create']({ clientId })
    const token = await accessToken(stack, { clientId, idToken }, 'openid edge:account:associate edge:mcm')
    await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
    await runtimeOf(stack).updateGps({
      edgeAccessToken: token,
      longitude: '-123.1',
      latitude: '49.2',
      speed: '1',
      bearing: '2',
    })
    const devices = async () => (await owner.api['device.list']()).devices
    for (let tries = 0; tries < 100 && (await devices()).length === 0; tries++) await pause(50)
    const { nodeId, version } = await runtimeOf(stack).getMe()
    expect(await owner.api['device.list']()).toMatchObject({
      hasPlaces: true,
      devices: [
        { nodeId, version, state: 'online', services: [], fix: { longitude: -123.1, latitude: 49.2 } },
      ],
    })
    await owner.api['device.disassociate']({ nodeId })
    expect(await devices()).toEqual([])
    const accountOf = async () => (await runtimeOf(stack).getMe()).accountId
    for (let tries = 0; tries < 200 && (await accountOf()) !== ''; tries++) await pause(50)
    expect(await accountOf()).toBe('')
    expect(await reasonOf(runtimeOf(stack).associateAccount({ edgeAccessToken: token }))).toBe(
      'token_revoked',
    )
    // It can come back with a new token.
    await runtimeOf(stack).associateAccount({
      edgeAccessToken: await accessToken(stack, { clientId, idToken }, 'openid edge:account:associate'),
    })
    for (let tries = 0; tries < 100 && (await devices()).length === 0; tries++) await pause(50)
    expect(await devices()).toMatchObject([{ nodeId }])
  })
})

it('everything at once: tokens and sign-ins end, show as ended, and new ones are valid', async () => {
  const { clientId } = await owner.api['project.create'](projectWith({ name: 'all at once' }))
  const { idToken, jti } = await owner.api['token.create']({ clientId })
  const form = {
    grant_type: 'id_token_signin',
    client_id: clientId,
    id_token: idToken,
    edge_id_token: (await runtimeOf(stack).getEdgeIdToken()).id_token,
    scope: 'openid offline_access',
  }
  const { refresh_token: token } = (await post(`${stack.identity.url}/token`, form)).body
  const isListed = async () => (await owner.api['sign_in.list']()).some((each) => each.clientId === clientId)
  expect(await isListed()).toBe(true)
  await owner.api['account.revoke_all']()
  expect(await isListed()).toBe(false)
  const shown = (await owner.api['token.list']()).find((each) => each.jti === jti)
  expect(shown?.revokedAt).not.toBeNull()
  const refresh = { grant_type: 'refresh_token', client_id: clientId, refresh_token: token! }
  expect((await post(`${stack.identity.url}/token`, refresh)).body.error).toBe('invalid_grant')
  expect((await post(`${stack.identity.url}/token`, form)).body.error).toBe('invalid_grant')
  const again = await owner.api['token.create']({ clientId })
  expect((await post(`${stack.identity.url}/token`, { ...form, id_token: again.idToken })).status).toBe(200)
})

describe('the audit log', () => {
  it('says who did what from where, newest first, and holds no secret', async () => {
    const { clientId } = await owner.api['project.create'](projectWith({ name: 'logged' }))
    const { idToken, jti } = await owner.api['token.create']({ clientId })
    await owner.api['token.revoke']({ jti })
    const [revoked, created] = await owner.api['audit.list']({ before: null })
    expect(revoked).toMatchObject({
      actor: 'ada@example.com',
      action: 'developer_token.revoke',
      subject: jti,
      address: '127.0.0.1',
      outcome: 'ok',
    })
    expect(created).toMatchObject({ action: 'developer_token.create', subject: jti })
    const answer = await owner.get(identityPaths.consoleAudit)
    const lines = (await answer.text()).trim().split('\n')
    expect(lines.length).toBeGreaterThan(10)
    expect(lines.map((line) => JSON.parse(line).accountId)).toEqual(
      lines.map(() => JSON.parse(lines[0]!).accountId),
    )
    expect(lines.join('\n')).not.toContain(idToken)
    expect(lines.join('\n')).not.toContain(idToken.split('.')[2])
    expect(lines.join('\n')).not.toMatch(/ey[\w-]{20,}\./)
    expect(lines.join('\n')).not.toContain(owner.cookie().split('=')[1])
  })

  it('keeps tries that failed', async () => {
    const stranger = openConsole(stack.identity.url)
    await reasonOf(
      stranger.api['sign_in.password']({ email: 'ada@example.com', password: 'not the password' }),
    )
    const [entry] = await owner.api['audit.list']({ before: null })
    expect(entry).toMatchObject({ actor: 'ada@example.com', action: 'session.create', outcome: 'refused' })
  })
})
