/** Tokens, leases and claims in front of a service for users: signed by the issuer itself, and still refused where they are not of a person who may call. */
import { readUser } from '@selvedge/client/function'
import { appIdProfile, leaseProfile, localProfile } from '@selvedge/protocol/tokens'
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sharing, startSharing } from '../harness/sharing.ts'
import { type Forgery, forge, type readIssuerKeys as Read, readIssuerKeys } from './forge.ts'

let world: Sharing
let keys: ReturnType<typeof Read>
/** Access tokens: of the owner by the app, of a guest by the app, and of the developer. */
const tokens: Record<'owner' | 'guest' | 'developer', string> = { owner: '', guest: '', developer: '' }
let idToken: string

beforeAll(async () => {
  world = await startSharing()
  await world.share('van', world.guest.personId)
  const signedIn = (await world.signIn(world.owner)).body
  tokens.owner = signedIn.access_token!
  idToken = signedIn.id_token!
  tokens.guest = (await world.signIn(world.guest)).body.access_token!
  tokens.developer = world.services.token
  keys = readIssuerKeys(world.services.stack.state)
})
afterAll(() => world?.stop())

const forged = (token: string, changes: Partial<Forgery>) =>
  forge(token, { name: '', expect: '', ...changes }, keys)
const outcomeOf = async (token: string, service = 'van') => {
  const { status, reason } = await world.call(service, token)
  return status === 200 ? 'accepted' : reason
}

/** Claims as the issuer signed them; what a case reads is there. */
type Claims = jose.JWTPayload & {
  readonly client_id: string
  readonly account_id: string
  readonly iat: number
  readonly exp: number
  readonly user: object
  readonly shares: { readonly services: readonly object[] }
}

interface Case {
  readonly name: string
  readonly of?: keyof typeof tokens
  readonly change?: (claims: Claims) => Record<string, unknown>
  readonly forge?: Partial<Forgery>
  readonly service?: string
  readonly expect: string
}

const group = (name: unknown) => ({ id: 'm', name })
const shareWith = (change: object) => (claims: Claims) => ({
  shares: { ...claims.shares, services: [{ ...claims.shares.services[0], ...change }] },
})
const user = (change: object) => (claims: Claims) => ({ user: { ...claims.user, ...change } })
const many = (count: number, one: unknown) => Array.from({ length: count }, () => one)

const cases: readonly Case[] = [
  { name: 'the token of a person as it is', expect: 'accepted' },
  { name: 'the token of a guest as it is', of: 'guest', expect: 'accepted' },
  { name: 'a token of the developer, who is no person of the app', of: 'developer', expect: 'forbidden' },
  {
    name: 'a token without "user"',
    change: () => ({ user: null, shares: null }),
    expect: 'forbidden',
  },
  {
    name: 'a token of another project',
    change: () => ({ client_id: 'other', azp: 'other' }),
    expect: 'insufficient_scope',
  },
  {
    name: 'a guest by the app of another project',
    of: 'guest',
    change: () => ({ client_id: 'other', azp: 'other' }),
    expect: 'insufficient_scope',
  },
  {
    name: 'a token of another node',
    of: 'guest',
    change: () => ({ node_id: '0'.repeat(56) }),
    expect: 'wrong_node',
  },
  { name: 'a guest without a share', of: 'guest', change: () => ({ shares: null }), expect: 'wrong_account' },
  {
    name: 'a share of another account',
    of: 'guest',
    change: (claims) => ({ shares: { ...claims.shares, account_id: 'x' } }),
    expect: 'wrong_account',
  },
  {
    name: 'a share that the own account makes for itself',
    of: 'guest',
    change: (claims) => ({ shares: { ...claims.shares, account_id: claims.account_id } }),
    expect: 'wrong_account',
  },
  {
    name: 'no service in the share',
    of: 'guest',
    change: (claims) => ({ shares: { ...claims.shares, services: [] } }),
    expect: 'forbidden',
  },
  { name: 'a share of another service', of: 'guest', service: 'crane', expect: 'forbidden' },
  {
    name: 'a service with a name in other case',
    of: 'guest',
    change: shareWith({ service: 'VAN' }),
    expect: 'forbidden',
  },
  {
    name: 'a service that names the project as well',
    of: 'guest',
    change: (claims) => shareWith({ service: `${claims.client_id.slice(0, 8)}-van` })(claims),
    expect: 'forbidden',
  },
  { name: 'a share that expired', of: 'guest', change: shareWith({ until: 1 }), expect: 'forbidden' },
  {
    name: 'a share that expired before time began',
    of: 'guest',
    change: shareWith({ until: -9_007_199_254_740_991 }),
    expect: 'forbidden',
  },
  {
    name: 'an end that is no whole number',
    of: 'guest',
    change: shareWith({ until: 1.5e300 }),
    expect: 'token_malformed',
  },
  {
    name: 'an end that is a text',
    of: 'guest',
    change: shareWith({ until: '9999999999' }),
    expect: 'token_malformed',
  },
  {
    name: 'a share without an ID, which nothing could revoke',
    of: 'guest',
    change: shareWith({ id: undefined }),
    expect: 'token_malformed',
  },
  {
    name: 'a service named __proto__',
    of: 'guest',
    change: shareWith({ service: '__proto__' }),
    expect: 'token_malformed',
  },
  {
    name: 'a service with a line feed',
    of: 'guest',
    change: shareWith({ service: 'van\n' }),
    expect: 'token_malformed',
  },
  {
    name: 'seventeen shares',
    of: 'guest',
    change: (claims) => ({ shares: { ...claims.shares, services: many(17, claims.shares.services[0]) } }),
    expect: 'token_malformed',
  },
  {
    name: 'an object with a length in place of shares',
    of: 'guest',
    change: (claims) => ({
      shares: { ...claims.shares, services: { length: 1, 0: claims.shares.services[0] } },
    }),
    expect: 'token_malformed',
  },
  { name: 'shares of no person', of: 'guest', change: () => ({ user: null }), expect: 'token_malformed' },
  { name: 'a list in place of the person', change: () => ({ user: [] }), expect: 'token_malformed' },
  { name: 'a person without groups', change: user({ groups: undefined }), expect: 'token_malformed' },
  { name: 'seventeen groups', change: user({ groups: many(17, group('a')) }), expect: 'token_malformed' },
  {
    name: 'a group with a line feed',
    change: user({ groups: [group('a\nX-Selvedge-Account: evil')] }),
    expect: 'token_malformed',
  },
  {
    name: 'a group with a quote',
    change: user({ groups: [group('a" "admins')] }),
    expect: 'token_malformed',
  },
  { name: 'a group beyond ASCII', change: user({ groups: [group('ädmins')] }), expect: 'token_malformed' },
  {
    name: 'a group of 33 characters',
    change: user({ groups: [group('a'.repeat(33))] }),
    expect: 'token_malformed',
  },
  { name: 'a group that is a number', change: user({ groups: [group(7)] }), expect: 'token_malformed' },
  {
    name: 'a group without an ID',
    change: user({ groups: [{ name: 'admins' }] }),
    expect: 'token_malformed',
  },
  { name: 'a name of 321 characters', change: user({ name: 'a'.repeat(321) }), expect: 'token_malformed' },
  {
    name: 'a name that is an object',
    change: user({ name: { toString: 'evil' } }),
    expect: 'token_malformed',
  },
  {
    name: 'a line feed in the ID of the person',
    change: () => ({ sub: 'a\r\nb' }),
    expect: 'token_malformed',
  },
  {
    name: 'a quote in the ID of the person',
    change: () => ({ sub: 'a", name=%"root' }),
    expect: 'token_malformed',
  },
  {
    name: 'a token that expired two days ago',
    change: (claims) => ({ iat: claims.iat - 176_400, exp: claims.exp - 176_400 }),
    expect: 'token_expired',
  },
  {
    name: 'a token of the day after tomorrow',
    change: (claims) => ({ iat: claims.iat + 172_800, exp: claims.exp + 172_800 }),
    expect: 'token_not_yet_valid',
  },
  { name: 'a token that a stranger signed', forge: { sign: 'stranger' }, expect: 'token_untrusted' },
  {
    name: 'a lease in place of a token',
    forge: { header: { typ: leaseProfile.typ } },
    expect: 'token_untrusted',
  },
  {
    name: 'a local token of another process',
    forge: { header: { typ: localProfile.typ } },
    expect: 'token_untrusted',
  },
  {
    name: 'an ID token of the app, by its type',
    forge: { header: { typ: appIdProfile.typ } },
    expect: 'token_untrusted',
  },
]

it.each(cases)(
  '$name: $expect',
  async ({ of = 'owner', change, forge: more = {}, service, expect: expected }) => {
    const claims = jose.decodeJwt<Claims>(tokens[of])
    const payload = change ? change(claims) : {}
    const token =
      change || Object.keys(more).length > 0 ? forged(tokens[of], { payload, ...more }) : tokens[of]
    expect(await outcomeOf(token, service)).toBe(expected)
  },
)

describe('the runtime', () => {
  it('accepts no ID token of the app, and no edge ID token', async () => {
    const edge = (await world.services.runtime().getEdgeIdToken()).id_token
    for (const token of [idToken, edge]) expect((await world.call('van', token)).status).toBe(401)
  })

  it('keeps a name with lines, quotes and other scripts in one value of one header', async () => {
    const name = 'Ada "\\ %22\r\nX-Selvedge-Account: evil\t\u0001Ä🙂'
    const token = forged(tokens.owner, { payload: user({ name })(jose.decodeJwt<Claims>(tokens.owner)) })
    const { status, user: header, account, text } = await world.call('van', token)
    expect({ status, account }, text).toEqual({ status: 200, account: world.owner.accountId })
    expect(readUser({ 'x-selvedge-user': header! })).toMatchObject({ name })
    expect(header).toMatch(/^[\x20-\x7e]+$/)
  })

  it('lets a guest call no method, and no service of another kind', async () => {
    await world.services.deploy('own', 'export default { fetch: () => new Response("in") }')
    expect(await outcomeOf(tokens.guest, 'own')).toBe('wrong_account')
    await expect(
      world.services.runtime().getContainers({ edgeAccessToken: tokens.guest }),
    ).rejects.toMatchObject({ reason: expect.stringMatching(/wrong_account|insufficient_scope/) })
    expect(jose.decodeJwt(tokens.guest).scope).not.toContain('edge:')
  })
})
