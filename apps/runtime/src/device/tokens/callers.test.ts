/** What checks callers, put together: the trusted issuers, their lists, proofs for the right scheme, and answers that last. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accessProfile, edgeAudience, publicJwk, revocationsAudience } from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { createProof, revocationEntry, signJws, thumbprint } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createNotices, type Notices } from '../node/notices.ts'
import { initialState } from '../state.ts'
import { type Callers, type CallersParts, openCallers } from './callers.ts'
import type { ProvenRequest } from './proof.ts'
import { openLists } from './revocations.ts'

const issuer = 'https://tenant.example'
const nodeId = 'a'.repeat(56)
const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const holder = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const clock = createFakeClock()
const start = clock.now()

let folder: string
/** The key of the issuer that is known. */
let key: KeyObject | undefined
let isTimeTrusted: boolean
/** The list that each issuer answers with. */
let list: string
let asked: string[]
let ownNode: number
let keysChanged: () => void
let notices: Notices
let log: ReturnType<typeof createMemoryLog>
let callers: Callers
const open = async (more: Partial<CallersParts> = {}): Promise<Callers> =>
  openCallers({
    nodeId,
    state: { value: { ...initialState, accountId: 'account' } } as never,
    clock: { ...clock, state: () => (isTimeTrusted ? 'trusted' : 'unknown') } as never,
    notices,
    tenants: {
      issuers: [{ issuer, findKey: () => key, refresh: async () => false, fetchedAt: () => undefined }],
      cloud: undefined as never,
      onChange: (listener) => {
        keysChanged = listener
      },
    },
    lists: await openLists(folder),
    intervalSeconds: 3600,
    overTls: false,
    clientFor: (url) =>
      ({
        revocations: async () => {
          asked.push(url)
          return { token: list, etag: '"1"' }
        },
      }) as never,
    onOwnNode: () => void ownNode++,
    ...more,
  })
beforeEach(async () => {
  clock.set(start)
  folder = mkdtempSync(join(tmpdir(), 'callers-'))
  key = keys.publicKey
  isTimeTrusted = true
  asked = []
  ownNode = 0
  list = listWith()
  log = createMemoryLog()
  notices = createNotices(clock, log)
  callers = await open()
})
afterEach(async () => {
  await callers.revocations.stop()
  rmSync(folder, { recursive: true })
})

const tokenWith = (more: object = {}) =>
  signJws(
    { typ: accessProfile.typ, kid: 'k' },
    {
      iss: issuer,
      sub: 'account',
      aud: edgeAudience,
      iat: seconds(clock),
      exp: seconds(clock) + 3600,
      jti: 'token',
      client_id: 'client',
      account_id: 'account',
      node_id: nodeId,
      scope: 'openid',
      auth_time: 0,
      ...more,
    },
    keys.privateKey,
  )
function listWith({ revoked = [] as string[], not_before = {}, iat = seconds(clock) } = {}): string {
  const claims = { iss: issuer, sub: issuer, aud: revocationsAudience, iat, exp: iat + 86_400, jti: 'list' }
  const content = { seq: 1, revoked, not_before }
  return signJws({ typ: 'revocations+jwt', kid: 'k' }, { ...claims, ...content }, keys.privateKey)
}
const request: ProvenRequest = { dpop: undefined, host: 'localhost:1', method: 'POST', path: '/x' }
const check = (token: string, of: ProvenRequest = request) =>
  callers.authorize(token, { caller: 'token', token: 'associated' }, of, 'a method').then(
    () => 'accepted',
    ({ reason }) => reason,
  )
/** Fetches the lists once. */
async function fetchLists(): Promise<void> {
  callers.revocations.start()
  await expect.poll(() => callers.revocations.status().checkedAt ?? notices.list()[0]).toBeTruthy()
}

describe('a caller', () => {
  it('needs a token of an issuer that the device trusts', async () => {
    expect(await check(tokenWith())).toBe('accepted')
    expect(await check(tokenWith({ iss: 'https://other.example' }))).toBe('token_untrusted')
    expect(await check(tokenWith({ node_id: 'b'.repeat(56) }))).toBe('wrong_node')
    expect(await check(tokenWith({ account_id: 'other' }))).toBe('wrong_account')
  })

  it('is refused while a stream lasts, once the token has expired', () => {
    const claims = { iat: seconds(clock), exp: seconds(clock), jti: 'x', account_id: 'account' } as never
    const expectValid = () => callers.expectStillValid(claims, { caller: 'token', token: 'associated' })
    expect(expectValid).not.toThrow()
    clock.advance(60_000)
    expect(expectValid).toThrow(expect.objectContaining({ reason: 'token_expired' }))
  })

  it.each([
    [false, 'http', 'accepted'],
    [false, 'https', 'invalid_dpop_proof'],
    [true, 'https', 'accepted'],
    [true, 'http', 'invalid_dpop_proof'],
  ])('with TLS %s, a proof for %s: %s', async (overTls, scheme, outcome) => {
    await callers.revocations.stop()
    callers = await open({ overTls })
    const jwk = publicJwk.parse(holder.publicKey.export({ format: 'jwk' }))
    const token = tokenWith({ cnf: { jkt: thumbprint(jwk) } })
    const proof = createProof({
      key: holder.privateKey,
      jwk,
      clock,
      htm: 'POST',
      htu: `${scheme}://localhost:1/x`,
      nonce: callers.nonce(),
      accessToken: token,
    })
    expect(await check(token, { ...request, dpop: proof })).toBe(outcome)
  })
})

describe('with tokens that this process issues itself', () => {
  const own = { account_id: 'account', node_id: nodeId, scope: 'openid', jti: 'own', iat: 0 }
  const ownTokens = { isOwn: (token: string) => token.startsWith('own'), verify: () => own as never }
  const openWithOwn = async () => {
    await callers.revocations.stop()
    callers = await open({ ownTokens })
  }

  it('a caller may show one of them, or one of an issuer', async () => {
    await openWithOwn()
    expect(await check('own token')).toBe('accepted')
    expect(await check(tokenWith())).toBe('accepted')
    expect(await check('token')).toBe('token_malformed')
  })

  it('they are no other kind of token', async () => {
    await openWithOwn()
    const verified = () => callers.verifier.verify('own token', accessProfile, edgeAudience)
    expect(verified).toThrow(expect.objectContaining({ reason: 'token_malformed' }))
  })

  it('without them, the same text is no token', async () => {
    expect(await check('own token')).toBe('token_malformed')
  })
})

it('answers that last are verified again when an issuer has other keys', async () => {
  const verifyAgain = vi.fn(async () => undefined)
  const stop = callers.lasting.watch({ verifyAgain, expectAllowed: () => undefined, end: () => undefined })
  expect(verifyAgain).not.toHaveBeenCalled()
  keysChanged()
  await expect.poll(() => verifyAgain.mock.calls.length).toBe(1)
  stop()
})

describe('the lists of revoked tokens', () => {
  it('are fetched from the issuers, and revoke their tokens', async () => {
    list = listWith({ revoked: [revocationEntry('id', 'token')] })
    await fetchLists()
    expect(asked).toEqual([issuer])
    expect(await check(tokenWith())).toBe('token_revoked')
    expect(ownNode).toBe(0)
  })

  it('have their ages in the status', async () => {
    expect(callers.revocations.status()).toEqual({ checkedAt: null, issuedAt: null })
    list = listWith({ iat: seconds(clock) - 60 })
    await fetchLists()
    expect(callers.revocations.status()).toEqual({
      checkedAt: '2026-01-01T00:00:00.000Z',
      issuedAt: '2025-12-31T23:59:00.000Z',
    })
  })

  it('report what is about this node', async () => {
    list = listWith({ not_before: { [revocationEntry('node', nodeId)]: seconds(clock) } })
    await fetchLists()
    expect(ownNode).toBe(1)
  })

  it('of another time raise a notice only while the device knows the time', async () => {
    list = listWith({ iat: seconds(clock) + 10 * 86_400 })
    await fetchLists()
    expect(notices.list().map(({ reason }) => reason)).toEqual(['revocations_wrong_time'])
    await callers.revocations.stop()
    notices = createNotices(clock, createMemoryLog())
    isTimeTrusted = false
    callers = await open()
    await fetchLists()
    expect(notices.list()).toEqual([])
  })

  it('are signed by a key that the issuer has at that time', async () => {
    list = listWith({ revoked: [revocationEntry('id', 'token')] })
    key = holder.publicKey
    await fetchLists()
    expect(notices.list().map(({ reason }) => reason)).toEqual(['revocations_refused'])
    expect(log.lines.join()).toContain(issuer)
    expect(callers.revocations.status().checkedAt).toBeNull()
  })
})
