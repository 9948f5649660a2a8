/** Attacks on shares: who makes one, on what, for how long, and what ends it. Headers that claim to be a person. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, projectWith, reasonOf } from '../harness/console.ts'
import { accessToken, adminOf, createProject } from '../harness/flow.ts'
import { type Sharing, showCaller, startSharing } from '../harness/sharing.ts'

let world: Sharing
beforeAll(async () => {
  world = await startSharing()
})
afterAll(() => world?.stop())

const hour = 3_600_000
const inHours = (hours: number) => new Date(Date.now() + hours * hour).toISOString()
const url = () => world.services.stack.identity.url
const admin = () => adminOf(world.services.stack.state)
const addTo = (console: ConsoleSession, more: object = {}) =>
  reasonOf(
    console.api['share.add']({
      ...{ nodeId: world.nodeId, service: 'van', with: world.guest.personId, until: inHours(1) },
      ...more,
    }),
  )

/** A person who joins the account of the device. */
async function join(email: string, role: 'owner' | 'member') {
  const { link } = await world.owner.console.api['member.invite']({ role })
  const console = await enterByLink(url(), link, email)
  const { viewer } = await console.api['session.get']()
  return { console, personId: viewer!.personId }
}

describe('a share is refused', () => {
  it.each([
    ['until a time in the past', { until: '2020-01-01T00:00:00Z' }],
    ['until a moment ahead', { until: new Date(Date.now() + 1000).toISOString() }],
    ['beyond 400 days', { until: inHours(401 * 24) }],
    ['until the year 9999', { until: '9999-12-31T23:59:59Z' }],
    ['until a leap second', { until: '2026-12-31T23:59:60Z' }],
    ['until the 30th of February', { until: '2027-02-30T00:00:00Z' }],
    ['until a time without a zone', { until: '2027-01-01T00:00:00' }],
    ['until a number', { until: 1e15 }],
    ['of a device that is no device', { nodeId: 'x' }],
    ['with no person', { with: '' }],
    ['with a text of 10,000 characters', { with: 'a'.repeat(10_000) }],
  ])('%s', async (_, more) => {
    expect(await addTo(world.owner.console, more)).toBe('invalid_params')
  })

  it.each([
    ['of a service that the device does not have', { service: 'boat' }],
    ['of a service with a pattern as its name', { service: '%' }],
    ['with the address of a stranger of this installation', { with: 'guest@example.com' }],
    ['with an address of no person', { with: 'missing@example.com' }],
    ['with the address in other letters', { with: 'GUEST@example.com' }],
    ['with a group that does not exist', { with: 'drivers' }],
    ['with the ID of no person', { with: '00000000-0000-4000-8000-000000000000' }],
    ['of a device of another account', { nodeId: '0'.repeat(56) }],
  ])('%s', async (_, more) => {
    expect(await addTo(world.owner.console, more)).toBe('not_found')
  })

  it('with the same words for an address that a stranger has and one of no person', async () => {
    const wordsOf = (who: string) =>
      world.share('van', who).then(
        () => '',
        ({ message }) => message as string,
      )
    expect(await wordsOf('guest@example.com')).toBe(await wordsOf('missing@example.com'))
  })

  it('to the owner of another account, who shares the device with itself', async () => {
    expect(await addTo(world.guest.console)).toBe('not_found')
  })

  it('to a member who is no owner, who does not see any either', async () => {
    const { console } = await join('member@example.com', 'member')
    expect(await addTo(console)).toBe('forbidden')
    expect(await reasonOf(console.api['share.list']({ nodeId: null }))).toBe('forbidden')
    expect(await reasonOf(console.api['group.create']({ name: 'mine' }))).toBe('forbidden')
  })

  it('to remove, to an owner of another account', async () => {
    const { shareId } = await world.share('van', world.guest.personId)
    expect(await reasonOf(world.guest.console.api['share.remove']({ shareId }))).toBe('not_found')
    expect(await reasonOf(world.owner.console.api['share.remove']({ shareId }))).toBe('accepted')
    expect(await reasonOf(world.owner.console.api['share.remove']({ shareId }))).toBe('not_found')
  })
})

describe('the account API of the command line', () => {
  const ask = async (headers: Record<string, string>) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'group.list' })
    const response = await fetch(url() + identityPaths.accountApi, {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json', ...headers },
    })
    return response.status
  }

  it('refuses every token that is of no sign-in of a person, and cookies', async () => {
    const { stack, developer, runtime, token } = world.services
    const project = await createProject(stack.state, developer.email)
    const app = (await world.signIn(world.owner)).body
    const edge = (await runtime().getEdgeIdToken()).id_token
    const all = [
      token,
      developer.idToken,
      project.idToken,
      app.id_token,
      app.access_token,
      app.refresh_token,
      edge,
    ]
    for (const each of all) expect(await ask({ Authorization: `Bearer ${each}` })).toBe(401)
    expect(await ask({})).toBe(401)
    expect(await ask({ Cookie: world.owner.console.cookie() })).toBe(401)
  })
})

describe('a share ends', () => {
  /** A token of the guest with a share that a person made. */
  async function shareBy(console: ConsoleSession) {
    expect(await addTo(console)).toBe('accepted')
    const { body } = await world.signIn(world.guest)
    expect((await world.call('van', body.access_token!)).status).toBe(200)
    return body
  }
  const isRefused = (token: string, reason: string) =>
    expect.poll(async () => (await world.call('van', token)).reason).toBe(reason)

  it('when its maker is removed, and does not return with the maker', async () => {
    const maker = await join('maker@example.com', 'owner')
    const { access_token: token, refresh_token: refresh } = await shareBy(maker.console)
    await world.owner.console.api['member.remove']({ personId: maker.personId })
    await isRefused(token!, 'token_revoked')
    await join('maker@example.com', 'owner')
    const again = (await world.refresh(refresh!)).body.access_token!
    expect(await world.call('van', again)).toMatchObject({ status: 403 })
  })

  it('when its maker is no owner any more, and does not return', async () => {
    const maker = await join('demoted@example.com', 'owner')
    const { personId } = maker
    const { access_token: token } = await shareBy(maker.console)
    await world.owner.console.api['member.set_role']({ personId, role: 'member' })
    await isRefused(token!, 'token_revoked')
    await world.owner.console.api['member.set_role']({ personId, role: 'owner' })
    await expect(world.signIn(world.guest)).rejects.toThrow(/another account/)
  })

  it('with its group, and a group of the same name has nothing of it', async () => {
    const { api } = world.owner.console
    const { groupId } = await api['group.create']({ name: 'drivers' })
    await api['group.add_person']({ groupId, person: world.guest.personId })
    await world.share('van', 'drivers')
    const { access_token: token } = (await world.signIn(world.guest)).body
    await api['group.delete']({ groupId })
    await isRefused(token!, 'token_revoked')
    const again = await api['group.create']({ name: 'drivers' })
    await api['group.add_person']({ groupId: again.groupId, person: world.guest.personId })
    await expect(world.signIn(world.guest)).rejects.toThrow(/another account/)
    await api['group.delete']({ groupId: again.groupId })
  })

  it('and a group that a member left is not in the header any more, while the person still gets in', async () => {
    const { api } = world.owner.console
    const { groupId } = await api['group.create']({ name: 'admins' })
    await api['group.add_person']({ groupId, person: world.owner.personId })
    const { access_token: token } = (await world.signIn(world.owner)).body
    expect((await world.call('van', token!)).user).toContain('groups=("admins")')
    await api['group.remove_person']({ groupId, personId: world.owner.personId })
    await expect.poll(async () => (await world.call('van', token!)).user).toContain('groups=()')
    await api['group.delete']({ groupId })
  })

  it('and does not pass to a service of the same name of another project', async () => {
    const { services } = world
    const { access_token: token } = await shareBy(world.owner.console)
    const other = await createProject(services.stack.state, services.developer.email)
    const edgeAccessToken = await accessToken(services.stack, other)
    const { functionImage, writeFile } = await import('../harness/archives.ts')
    const source = writeFile(
      `${services.stack.state}/archives`,
      'other.tar',
      functionImage(showCaller, 'van', 'index.js'),
    )
    const { id: image } = await services.runtime().deployImage({ edgeAccessToken, source })
    const env = { 'MCM.ACCESS': 'users' }
    const { basePath } = await services.runtime().deployContainer({
      ...{ edgeAccessToken, spec: { name: 'van', image, env } },
    })
    expect((await services.call(`${basePath}/`, { token: token! })).status).toBe(403)
    await expect.poll(() => addTo(world.owner.console)).toBe('conflict')
  })
})

it('an app for its own account only renews no tokens of guests any more', async () => {
  await world.share('crane', world.guest.personId)
  const guest = (await world.signIn(world.guest)).body
  const own = (await world.signIn(world.owner)).body
  const { clientId, redirectUri } = world.app
  const more = { redirectUris: [redirectUri], scopes: ['openid', 'edge:mcm', 'offline_access'] }
  const update = (appUsers: 'account' | 'anyone') =>
    world.owner.console.api['project.update'](projectWith({ clientId, name: 'Vans', appUsers, ...more }))
  await update('account')
  try {
    expect((await world.refresh(guest.refresh_token!)).body).toMatchObject({ error: 'invalid_grant' })
    expect((await world.refresh(own.refresh_token!)).status).toBe(200)
  } finally {
    await update('anyone')
  }
})

describe('groups are bounded', () => {
  it.each(['', 'A', '-a', 'a b', 'a\nb', 'ä', 'a@b', 'a"', 'a'.repeat(33), '\u202eadmin'])(
    'and %j is no name of one',
    async (name) => {
      expect(await reasonOf(world.owner.console.api['group.create']({ name }))).toBe('invalid_params')
    },
  )

  it('to 50 in an account, of which a person is in 16', async () => {
    const { api } = world.guest.console
    const made = []
    for (let at = 0; at < 50; at++) made.push(await api['group.create']({ name: `g${at}` }))
    expect(await reasonOf(api['group.create']({ name: 'more' }))).toBe('limit_exceeded')
    expect(await reasonOf(api['group.create']({ name: 'g1' }))).toBe('already_exists')
    const person = world.guest.personId
    for (const { groupId } of made.slice(0, 16)) await api['group.add_person']({ groupId, person })
    expect(await reasonOf(api['group.add_person']({ groupId: made[16]!.groupId, person }))).toBe(
      'limit_exceeded',
    )
    const foreign = world.owner.console.api['group.add_person']({ groupId: made[0]!.groupId, person })
    expect(await reasonOf(foreign)).toBe('not_found')
  })
})

describe('a header that claims to be a person', () => {
  const spellings = [
    'X-Selvedge-User',
    'x-selvedge-user',
    'X-SELVEDGE-USER',
    'X_Selvedge_User',
    'X-Selvedge_User',
    'X.Selvedge.User',
    'X-Selvedge-User: first\r\nX-Selvedge-User',
    'X-Filler: a\r\nConnection: close, X-Selvedge-User\r\nX-Selvedge-User',
  ]
  const forgery = 'sub="root", name=%"root", groups=("admins")'
  let token: string
  const open: Record<string, string> = {}
  beforeAll(async () => {
    token = (await world.signIn(world.owner)).body.access_token!
    open.public = (await world.services.deploy('public', showCaller, { 'MCM.ACCESS': 'public' })).basePath
    open.account = (await world.services.deploy('account', showCaller)).basePath
  })

  /** The whole answer to bytes as they are. */
  async function raw(...lines: string[]): Promise<string> {
    const { hostname, port } = new URL(world.services.url())
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    await once(socket, 'close')
    return text
  }
  const host = () => `Host: ${new URL(world.services.url()).host}`
  const call = (path: string, ...lines: string[]) =>
    raw(`GET ${path} HTTP/1.1`, host(), 'Connection: close', ...lines)

  it.each(spellings)('%j reaches no service', async (name) => {
    const own = await call(
      `/${world.app.clientId}/van/`,
      `Authorization: Bearer ${token}`,
      `${name}: ${forgery}`,
    )
    expect(own).toContain(world.owner.personId)
    expect(own).not.toContain('root')
    for (const path of [open.public!, open.account!]) {
      const answer = await call(
        `${path}/`,
        `Authorization: Bearer ${world.services.token}`,
        `${name}: ${forgery}`,
      )
      expect(answer).toContain('"user":null')
    }
  })

  it('folded over two lines is refused before any service sees it', async () => {
    const answer = await call(`${open.public}/`, `X-Filler: a\r\n X-Selvedge-User: ${forgery}`)
    expect(answer).not.toContain('root')
  })

  it('in the trailers of a body reaches no service', async () => {
    const answer = await raw(
      `POST ${open.public}/ HTTP/1.1`,
      ...[host(), 'Connection: close', 'Transfer-Encoding: chunked', 'Trailer: X-Selvedge-User', ''],
      `1\r\na\r\n0\r\nX-Selvedge-User: ${forgery}`,
    )
    expect(answer).toContain('"user":null')
  })

  it('in the handshake of a WebSocket reaches no service', async () => {
    const source = `export default { fetch: (request) => new Response('user ' + request.headers.get('x-selvedge-user')) }`
    const { basePath } = await world.services.deploy('sockets', source, { 'MCM.ACCESS': 'users' })
    const upgrade = [
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ]
    const answer = await raw(
      `GET ${basePath}/ HTTP/1.1`,
      ...[
        host(),
        'Connection: Upgrade',
        ...upgrade,
        `Authorization: Bearer ${token}`,
        `X-Selvedge-User: ${forgery}`,
      ],
    )
    expect(answer).toContain(`user sub="${world.owner.personId}"`)
    expect(answer).not.toContain('root')
    const without = await raw(
      `GET ${basePath}/ HTTP/1.1`,
      host(),
      'Connection: Upgrade',
      ...upgrade,
      `X-Selvedge-User: ${forgery}`,
    )
    expect(without).toMatch(/^HTTP\/1\.1 401/)
  })
})

describe('last, since the app and the device are lost to the account', () => {
  it('the tokens of guests end when the account that shares revokes all tokens', async () => {
    await world.share('crane', world.guest.personId)
    const { access_token: token } = (await world.signIn(world.guest)).body
    expect((await world.call('crane', token!)).status).toBe(200)
    await world.owner.console.api['account.revoke_all']()
    await expect.poll(async () => (await world.call('crane', token!)).reason).toBe('token_revoked')
  })

  it('a share ends with its project, which does not bring it back when it is created again', async () => {
    const { access_token: token } = await world.signIn(world.owner).then(async () => {
      const [share] = await world.owner.console.api['share.list']({ nodeId: world.nodeId })
      expect(share).toBeDefined()
      return (await world.signIn(world.guest)).body
    })
    await admin()['project.disable']({ clientId: world.app.clientId })
    await expect.poll(async () => (await world.call('van', token!)).reason).toBe('token_revoked')
    expect(await world.owner.console.api['share.list']({ nodeId: null })).toEqual([])
  })
})
