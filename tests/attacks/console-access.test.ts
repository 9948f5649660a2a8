/**
 * Every method of the console, called by each kind of caller that may not: signed out, without the role, with a sign-in that is too old
 * or ended, and for what belongs to another account. What is expected comes from the declarations alone.
 */
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { grantTypes } from '@selvedge/protocol'
import { consoleMethods } from '@selvedge/protocol/console'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, openConsole, projectWith } from '../harness/console.ts'
import { accessToken, adminOf, createProject, runtimeOf } from '../harness/flow.ts'
import { post } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
/** Owner and member of one account, and the owner of another one. */
let ada: ConsoleSession
let mia: ConsoleSession
let bob: ConsoleSession
/** Ids of what belongs to Bob and to his account, by the names of parameters. */
let ofBob: Record<string, string>

const change = (statement: string, ...values: SQLInputValue[]) => {
  const database = new DatabaseSync(join(stack.state, 'identity', 'identity.db'), { timeout: 30_000 })
  database.prepare(statement).run(...values)
  database.close()
}

beforeAll(async () => {
  stack = await startStack()
  const { url, ready } = stack.identity
  const admin = adminOf(stack.state)
  ada = await enterByLink(url, ready.setup!, 'ada@example.com')
  await ada.api['password.set']({ password: 'three quiet herons at dusk' })
  const invitation = await ada.api['member.invite']({ role: 'member' })
  mia = await enterByLink(url, invitation.link, 'mia@example.com')
  const { accountId } = await admin['account.create']({ email: 'bob@example.com' })
  const { link } = await admin['account.link']({ email: 'bob@example.com' })
  bob = await enterByLink(url, link, 'bob@example.com')
  ofBob = { accountId, ...(await belongings()) }
})
afterAll(() => stack?.stop())

const issuerRule = {
  issuer: 'https://issuer.example',
  audiences: ['a'],
  conditions: [{ claim: 'sub', value: 's' }],
  scopes: ['openid' as const],
  as: 'person' as const,
  algorithms: ['RS256' as const],
}

async function belongings(): Promise<Record<string, string>> {
  const project = await createProject(stack.state, 'bob@example.com', {
    scopes: ['openid', 'offline_access', 'edge:account:associate'],
  })
  const token = await accessToken(stack, project, 'openid edge:account:associate')
  await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
  const { id_token: edgeIdToken } = await runtimeOf(stack).getEdgeIdToken()
  await post(`${stack.identity.url}/token`, {
    grant_type: grantTypes.idTokenSignin,
    client_id: project.clientId,
    id_token: project.idToken,
    edge_id_token: edgeIdToken,
    scope: 'openid offline_access',
  })
  const [session] = await bob.api['session.list']()
  const { viewer } = await bob.api['session.get']()
  const { personId } = viewer!
  change(
    `INSERT INTO passkeys (credential_id, person_id, public_key, counter, transports, name, created_at, last_used_at)
    VALUES ('credential-of-bob', ?, '', 0, '', 'key', 0, 0)`,
    personId,
  )
  const { groupId } = await bob.api['group.create']({ name: 'drivers' })
  const { issuerId } = await bob.api['issuer.add']({ clientId: project.clientId, ...issuerRule })
  const [signIn] = await bob.api['sign_in.list']()
  const { nodeId } = await runtimeOf(stack).getMe()
  const { clientId, jti } = project
  change(
    `INSERT INTO service_shares SELECT 'share-of-bob', account_id, node_id, account_epoch, ?, 'van', ?, '', ?, 0, ?, NULL
      FROM nodes WHERE node_id = ?`,
    ...[clientId, personId, personId, Date.now() + 86_400_000, nodeId],
  )
  return {
    ...{ groupId, shareId: 'share-of-bob' },
    personId,
    sessionId: session!.sessionId,
    sid: signIn!.sid,
    nodeId,
    clientId,
    jti,
    issuerId,
    credentialId: 'credential-of-bob',
  }
}

type Api = Record<string, (params?: object) => Promise<unknown>>
const reasonOf = (session: ConsoleSession, name: string, params: object = {}): Promise<string> =>
  (session.api as unknown as Api)[name]!(params).then(
    () => 'accepted',
    ({ reason, message }) => (reason as string) ?? String(message),
  )

const all = Object.values(consoleMethods)
const ofPeople = all.flatMap(({ name, access }) =>
  access.caller === 'person' ? [{ name, access, params: [] }] : [],
)
const namesOf = (filter: (access: { session: string; role?: string }) => boolean) =>
  ofPeople.filter(({ access }) => filter(access)).map(({ name }) => name)

describe('a caller who is signed out', () => {
  it.each(namesOf(() => true))('is refused by %s', async (name) => {
    expect(await reasonOf(openConsole(stack.identity.url), name)).toBe('signed_out')
  })
})

describe('a session that was not used for a day', () => {
  let idle: ConsoleSession
  beforeAll(async () => {
    idle = openConsole(stack.identity.url)
    await idle.api['sign_in.password']({ email: 'ada@example.com', password: 'three quiet herons at dusk' })
    const [newest] = (await ada.api['session.list']()).toSorted((one, other) =>
      other.createdAt.localeCompare(one.createdAt),
    )
    change(
      'UPDATE sessions SET last_seen_at = last_seen_at - 86400001 WHERE session_id = ?',
      newest!.sessionId,
    )
  })
  it.each(namesOf(() => true))('is refused by %s', async (name) => {
    expect(await reasonOf(idle, name)).toBe('signed_out')
  })
})

describe('a member who is no owner', () => {
  it.each(namesOf(({ role }) => role === 'owner'))('is refused by %s', async (name) => {
    expect(await reasonOf(mia, name)).toBe('forbidden')
  })
})

describe('a sign-in of an hour ago', () => {
  beforeAll(() => change('UPDATE sessions SET auth_time = auth_time - 3600000'))
  afterAll(() => change('UPDATE sessions SET auth_time = auth_time + 3600000'))
  it.each(namesOf(({ session }) => session === 'recent'))('is refused by %s', async (name) => {
    expect(await reasonOf(ada, name)).toBe('step_up_required')
  })
})

describe('an owner', () => {
  const others: Record<string, unknown> = {
    ...{ role: 'member', before: null, label: '', tags: [] },
    ...(projectWith({}) as object),
    ...{ ...issuerRule, subject: 's', token: 't' },
    ...{ person: 'ada@example.com', service: 'van', with: 'drivers', until: '2027-01-01T00:00:00Z' },
  }
  const ids = [
    'clientId',
    'jti',
    'nodeId',
    'personId',
    'sessionId',
    'sid',
    'accountId',
    'credentialId',
    'groupId',
    'shareId',
  ]
  const byId = all.flatMap(({ name, access, params }) => {
    const names = (params as readonly { name: string }[]).map((each) => each.name)
    return access.caller === 'person' && names.some((each) => ids.includes(each)) ? [{ name, names }] : []
  })
  it.each(byId)('of another account finds nothing with $name', async ({ name, names }) => {
    const params = Object.fromEntries(names.map((each) => [each, ofBob[each] ?? others[each]]))
    expect(await reasonOf(ada, name, params)).toBe('not_found')
  })
})

it('changes no device of another account in a list of devices', async () => {
  const nodeIds = [ofBob.nodeId!]
  const refused = { done: [], failed: [{ nodeId: ofBob.nodeId, reason: 'not_found' }] }
  expect(await ada.api['devices.block']({ nodeIds })).toMatchObject(refused)
  expect(await ada.api['devices.unblock']({ nodeIds })).toMatchObject(refused)
  expect(await ada.api['devices.revoke']({ nodeIds })).toMatchObject(refused)
  expect(await ada.api['devices.tag']({ nodeIds, add: ['x'], remove: [] })).toMatchObject(refused)
  const { device } = await bob.api['device.get']({ nodeId: ofBob.nodeId! })
  expect(device).toMatchObject({ blockedAt: null, tags: [] })
})

it('answers a caller with the right to call: what is refused above is refused because of the caller', async () => {
  for (const name of ['session.list', 'member.list', 'project.list', 'device.list'])
    expect({ name, reason: await reasonOf(bob, name) }).toEqual({ name, reason: 'accepted' })
  expect(await reasonOf(bob, 'device.get', { nodeId: ofBob.nodeId })).toBe('accepted')
  expect(await reasonOf(bob, 'sign_in.revoke', { sid: ofBob.sid })).toBe('accepted')
})
