/**
 * Who may call a service, with an `authorize` that accepts every token: the gateway checks by itself that account and project of the
 * caller are those of the container.
 */
import { RpcError, readSettings } from '@selvedge/protocol'
import type { AccessClaims, ShownToken } from '@selvedge/protocol/tokens'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import type { NeededToken } from '../../device/tokens/authorize.ts'
import type { ProvenRequest } from '../../device/tokens/proof.ts'
import type { Route } from '../containers/views.ts'
import { type Admit, createAdmit } from './admit.ts'
import { createServiceIdentity } from './service-identity.ts'

const clock = createFakeClock()
const start = clock.now()
const identity = createServiceIdentity('n', clock)
let admit: Admit
let asked: { token: string; access: NeededToken; use: string }[]
let ended: RpcError | undefined
/** What was asked of a token that was accepted before. */
let checkedAgain: NeededToken[]
/** A share or membership that was revoked. */
let revokedId: string | undefined
beforeEach(() => {
  clock.set(start)
  asked = []
  ended = undefined
  checkedAgain = []
  revokedId = undefined
  admit = createAdmit({
    // A token is `<account> <client> <person> <share>` here; person and share may be absent.
    async authorize(token, access, _, use) {
      asked.push({ token, access, use })
      const [account_id, client_id, sub, id] = token.split(' ')
      const shares = id && { account_id: 'a', services: [{ id, service: 'web', until: start / 1000 + 60 }] }
      const user = sub && { sub, user: { name: `${sub}@example.com`, groups: [{ id: 'm', name: 'staff' }] } }
      return { account_id, client_id, scope: 'openid', ...user, shares } as unknown as AccessClaims
    },
    expectStillValid(_, access) {
      checkedAgain.push(access)
      if (ended) throw ended
    },
    keepUnrevoked: (_, ids) => ids.filter((id) => id !== revokedId),
    now: clock.now,
    identity,
  })
})

/** A service of the client `c` of the account `a`. */
const serviceWith = (env: Record<string, string> = {}) =>
  ({
    id: 'c-web',
    container: { accountId: 'a', clientId: 'c', name: 'web' },
    settings: readSettings(env),
  }) as unknown as Route
const requestWith = (token?: string, scheme: ShownToken['scheme'] = 'Bearer') =>
  ({ shown: token === undefined ? undefined : { scheme, token } }) as ProvenRequest
const own = { 'MCM.ACCESS': 'client' }

/** The headers' view of the caller, or the reason of the refusal. */
const outcomeOf = async (env: Record<string, string>, token?: string, scheme?: ShownToken['scheme']) => {
  try {
    const admitted = await admit(serviceWith(env), requestWith(token, scheme))
    if (!admitted) return 'anyone'
    const { account, client, scope, container } = admitted
    return { account, client, scope, container }
  } catch (cause) {
    if (cause instanceof RpcError) return cause.reason
    throw cause
  }
}

describe('an access token', () => {
  it('of another project of the account calls a service of the account', async () => {
    const caller = { account: 'a', client: 'd', scope: 'openid', container: '' }
    expect(await outcomeOf({}, 'a d')).toEqual(caller)
    expect(await outcomeOf({ 'MCM.ACCESS': 'account' }, 'a d')).toEqual(caller)
  })

  it('is checked by what a service needs: a token of the associated account', async () => {
    await outcomeOf({}, 'a c')
    const access = { caller: 'token', token: 'associated' }
    expect(asked).toEqual([{ token: 'a c', access, use: 'the service c-web' }])
  })

  it.each([
    ['account', 'b d'],
    ['account', 'b c'],
    ['client', 'b c'],
  ])('of another account calls no service with MCM.ACCESS %s: %s', async (access, token) => {
    expect(await outcomeOf({ 'MCM.ACCESS': access }, token)).toBe('wrong_account')
  })

  it('of another project calls no service that is for its own project', async () => {
    expect(await outcomeOf(own, 'a d')).toBe('insufficient_scope')
    expect(await outcomeOf(own, 'a c')).toMatchObject({ client: 'c' })
  })

  it('ends when it is not valid any more', async () => {
    const admitted = await admit(serviceWith(), requestWith('a c'))
    expect(() => admitted!.expectStillValid()).not.toThrow()
    ended = new RpcError('token_revoked', 'revoked')
    expect(() => admitted!.expectStillValid()).toThrow(ended)
  })
})

it('no token calls no service, unless the service is public', async () => {
  expect(await outcomeOf({})).toBe('token_missing')
  expect(await outcomeOf(own)).toBe('token_missing')
  expect(await outcomeOf({ 'MCM.ACCESS': 'public' })).toBe('anyone')
  expect(asked).toEqual([])
})

it('a public service gets no caller, whatever token comes', async () => {
  expect(await outcomeOf({ 'MCM.ACCESS': 'public' }, 'a c')).toBe('anyone')
  expect(asked).toEqual([])
})

describe('the token of a service', () => {
  const tokenOf = (account_id: string, client_id: string, audience = 'c-web') =>
    identity.issue({ sub: `${client_id}-caller`, account_id, client_id }, audience).token

  it('of the account calls another service of the account, without the checks of access tokens', async () => {
    const caller = { account: 'a', client: 'd', scope: '', container: 'd-caller' }
    expect(await outcomeOf({}, tokenOf('a', 'd'))).toEqual(caller)
    expect(asked).toEqual([])
  })

  it('of another account is refused', async () => {
    expect(await outcomeOf({}, tokenOf('b', 'd'))).toBe('wrong_account')
    expect(await outcomeOf(own, tokenOf('b', 'c'))).toBe('wrong_account')
  })

  it('of another project is refused by a service that is for its own project', async () => {
    expect(await outcomeOf(own, tokenOf('a', 'd'))).toBe('insufficient_scope')
    expect(await outcomeOf(own, tokenOf('a', 'c'))).toMatchObject({ client: 'c' })
  })

  it('for another service is refused', async () => {
    expect(await outcomeOf({}, tokenOf('a', 'c', 'c-other'))).toBe('token_untrusted')
  })

  it('is refused under the scheme DPoP: it is bound to no key', async () => {
    expect(await outcomeOf({}, tokenOf('a', 'c'), 'DPoP')).toBe('invalid_dpop_proof')
  })

  it('is refused after its end, and so is what began before', async () => {
    const token = tokenOf('a', 'c')
    const admitted = await admit(serviceWith(), requestWith(token))
    clock.advance(400_000)
    expect(() => admitted!.expectStillValid()).toThrow(expect.objectContaining({ reason: 'token_expired' }))
    expect(await outcomeOf({}, token)).toBe('token_expired')
  })

  it('of an earlier run of the runtime is checked as an access token', async () => {
    const { token } = createServiceIdentity('n', clock).issue(
      { sub: 'c-caller', account_id: 'a', client_id: 'c' },
      'c-web',
    )
    await outcomeOf({}, token)
    expect(asked.map((each) => each.token)).toEqual([token])
  })
})

describe('a service for users', () => {
  const forUsers = serviceWith({ 'MCM.ACCESS': 'users' })
  const asUser = { caller: 'token', token: 'user' }

  it('is called by a person of its app, and gets to know the person', async () => {
    const { expectStillValid, ...caller } = (await admit(forUsers, requestWith('a c ada')))!
    expect(caller).toEqual({
      account: 'a',
      client: 'c',
      scope: 'openid',
      container: '',
      user: { sub: 'ada', name: 'ada@example.com', groups: ['staff'] },
    })
    expect(asked).toEqual([{ token: 'a c ada', access: asUser, use: 'the service c-web' }])
    expect(expectStillValid).not.toThrow()
    expect(checkedAgain).toEqual([asUser])
  })

  it.each([
    ['of no person', 'a c', 'forbidden'],
    ['of another app', 'a d ada', 'insufficient_scope'],
    ['of another account without a share', 'b c ada', 'wrong_account'],
  ])('is not called with a token %s', async (_, token, reason) => {
    expect(await outcomeOf({ 'MCM.ACCESS': 'users' }, token)).toBe(reason)
  })

  it('is not called without a token, nor by another service', async () => {
    expect(await outcomeOf({ 'MCM.ACCESS': 'users' })).toBe('token_missing')
    const { token } = identity.issue({ sub: 'c-caller', account_id: 'a', client_id: 'c' }, 'c-web')
    await expect(admit(forUsers, requestWith(token))).rejects.toThrow(
      expect.objectContaining({ reason: 'forbidden', message: expect.stringContaining('c-web') }),
    )
    expect(asked).toEqual([])
  })

  it('ends what lasts when the token is not valid any more', async () => {
    const admitted = (await admit(forUsers, requestWith('a c ada')))!
    ended = new RpcError('token_revoked', 'revoked')
    expect(() => admitted.expectStillValid()).toThrow(ended)
  })

  it('ends what lasts when the share of the person is removed, or has expired', async () => {
    const [removed, expired] = [
      (await admit(forUsers, requestWith('b c ada s1')))!,
      (await admit(forUsers, requestWith('b c ada s2')))!,
    ]
    revokedId = 's1'
    expect(() => removed.expectStillValid()).toThrow(expect.objectContaining({ reason: 'token_revoked' }))
    expect(() => expired.expectStillValid()).not.toThrow()
    clock.advance(120_000)
    expect(() => expired.expectStillValid()).toThrow(expect.objectContaining({ reason: 'forbidden' }))
  })
})

it('any other service gets to know no person', async () => {
  expect(await admit(serviceWith(), requestWith('a c ada'))).not.toHaveProperty('user')
})
