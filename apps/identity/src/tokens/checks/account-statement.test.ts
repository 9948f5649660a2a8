import { OAuthError } from '@selvedge/protocol'
import { accessProfile, edgeAudience, TokenError } from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { type AccountStatementParts, checkAccountStatement } from './account-statement.ts'

const clock = createFakeClock()
const now = seconds(clock)
const day = 86_400
const own = 'https://identity.example'
const token = {
  iss: own,
  node_id: 'n1',
  account_id: 'a1',
  scope: 'openid edge:account:associate',
  iat: now - 10,
  exp: now + 100,
  jti: 'j',
  epoch: 7,
}
type Claims = Partial<typeof token>

/** @param claims of the token that the statement contains */
function check(
  claims: Claims,
  { known, parts = {} }: { known?: object | undefined; parts?: Partial<AccountStatementParts> } = {},
) {
  const asked: unknown[] = []
  const all: AccountStatementParts = {
    clock,
    issuer: () => own,
    tenantVerifier: {
      verifyEnded: async (...args: unknown[]) => {
        asked.push(...args)
        return { ...token, ...claims } as never
      },
    } as never,
    trust: { foreignReasonAgainst: async () => undefined },
    revocations: { reasonFor: () => undefined },
    ...parts,
  }
  const stated = { account: { id: 'a1', access_token: 'text' } }
  return { asked, result: checkAccountStatement(all, 'n1', stated, known as never) }
}
const node = (more: object = {}) => ({ accountId: '', accountEpoch: 0, accountAt: 0, ...more })
const stateOf = (account: object | undefined, known?: object) =>
  checkAccountStatement({} as never, 'n1', { account } as never, known as never)

it('leaves the account as it is without a statement', async () => {
  expect(await stateOf(undefined)).toEqual({ accountId: '' })
  expect(await stateOf(undefined, node({ accountId: 'a2' }))).toEqual({ accountId: 'a2' })
})

it('lets a node leave, or confirm the account that it has, without a token', async () => {
  expect(await stateOf({ id: '' }, node({ accountId: 'a2' }))).toEqual({ accountId: '' })
  expect(await stateOf({ id: 'a2' }, node({ accountId: 'a2' }))).toEqual({ accountId: 'a2' })
})

it('needs a token for another account', async () => {
  await expect(stateOf({ id: 'a1' }, node({ accountId: 'a2' }))).rejects.toThrow(/no access token/)
  await expect(stateOf({ id: 'a1' })).rejects.toMatchObject({ code: 'invalid_request' })
})

it('accepts a token for this node, this account and the scope, and returns it', async () => {
  const { asked, result } = check({})
  expect(await result).toEqual({ accountId: 'a1', token })
  expect(asked).toEqual(['text', accessProfile, edgeAudience])
})

it.each<[string, Claims]>([
  ['another node', { node_id: 'n2' }],
  ['another account', { account_id: 'a2' }],
  ['another scope', { scope: 'openid edge:mcm' }],
  ['a scope that only begins like it', { scope: 'edge:account:associate2' }],
])('rejects a token for %s', async (_, claims) => {
  await expect(check(claims).result).rejects.toMatchObject({
    code: 'invalid_grant',
    message: expect.stringContaining('not for associating this node'),
    cause: { reason: 'token_untrusted' },
  })
})

it('accepts a token until 90 days after it expired', async () => {
  await expect(check({ exp: now - 90 * day }).result).resolves.toMatchObject({ accountId: 'a1' })
  await expect(check({ exp: now - 90 * day - 1 }).result).rejects.toMatchObject({
    message: expect.stringContaining('expired more than 90 days ago'),
    cause: { reason: 'token_expired' },
  })
})

it('rejects a token of this service from before the node left its last account, by its number', async () => {
  const left = (accountEpoch: number) => ({ known: node({ accountEpoch, accountAt: 1 }) })
  await expect(check({}, left(7)).result).resolves.toMatchObject({ accountId: 'a1' })
  await expect(check({}, left(8)).result).rejects.toMatchObject({
    message: expect.stringContaining('before the node left its last account'),
    cause: { reason: 'token_revoked' },
  })
})

it('rejects a token of another issuer from before the node left its last account, by its time', async () => {
  const foreign = { iss: 'https://tenant.example', epoch: 999 }
  const leftAt = (accountAt: number) => ({ known: node({ accountEpoch: 8, accountAt }) })
  // Within one second, no order is known: the token is rejected.
  await expect(check({ ...foreign, iat: now }, leftAt(now * 1000)).result).rejects.toThrow(/left its last/)
  await expect(check({ ...foreign, iat: now + 1 }, leftAt(now * 1000)).result).resolves.toBeDefined()
  await expect(
    check({ ...foreign, iat: 0 }, { known: node({ accountEpoch: 8 }) }).result,
  ).resolves.toBeDefined()
})

it('rejects a revoked token, with the reason', async () => {
  const revocations = { reasonFor: () => 'it is gone' }
  await expect(check({}, { parts: { revocations } }).result).rejects.toMatchObject({
    code: 'invalid_grant',
    message: 'the account is not proved: the access token was revoked: it is gone',
    cause: { reason: 'token_revoked' },
  })
  const trust = { foreignReasonAgainst: async () => 'its issuer revoked it' }
  await expect(check({}, { parts: { trust } }).result).rejects.toThrow(/its issuer revoked it/)
})

it('compares the number of a token only with the numbers of its own issuer', async () => {
  const seen: unknown[] = []
  const revocations = {
    reasonFor: (claims: { epoch?: number }) => {
      seen.push(claims.epoch)
      return undefined
    },
  }
  await check({}, { parts: { revocations } }).result
  await check({ iss: 'https://tenant.example' }, { parts: { revocations } }).result
  expect(seen).toEqual([7, undefined])
})

it('answers invalid_grant if the token is bad, or if the list of its issuer is too old', async () => {
  const failing = (cause: Error) => ({
    parts: { tenantVerifier: { verifyEnded: () => Promise.reject(cause) } as never },
  })
  const bad = new TokenError('token_untrusted', 'the signature is wrong')
  await expect(check({}, failing(bad)).result).rejects.toMatchObject({
    code: 'invalid_grant',
    message: expect.stringContaining('the account is not proved'),
  })
  const old = new OAuthError('temporarily_unavailable', 'the list is too old')
  await expect(check({}, failing(old)).result).rejects.toMatchObject({
    code: 'invalid_grant',
    message: 'the account is not proved: the list is too old',
    cause: old,
  })
})

it('does not hide an internal failure', async () => {
  const failure = new Error('disk')
  const parts = { tenantVerifier: { verifyEnded: () => Promise.reject(failure) } as never }
  await expect(check({}, { parts }).result).rejects.toBe(failure)
})
