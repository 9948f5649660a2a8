/** Leases at a runtime: what is exchanged, what is refused, and what a local token opens. Real keys, files, proofs and lists. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConnectionFailure } from '@selvedge/client'
import { OAuthError, RpcError, type TokenResponse } from '@selvedge/protocol'
import {
  accessProfile,
  developerIdProfile,
  edgeAudience,
  jwtBearerGrant,
  type LeaseClaims,
  leaseProfile,
  localProfile,
  nodeUrn,
  parseJws,
  publicJwk,
  revocationsAudience,
} from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { StoreError } from '@selvedge/service-kit/store'
import { createDiskFaults, createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { createProof, revocationEntry, signJws, thumbprint } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createNotices } from '../node/notices.ts'
import { initialState } from '../state.ts'
import { type Callers, openCallers } from '../tokens/callers.ts'
import { openLists } from '../tokens/revocations.ts'
import { type LeaseStore, openLeaseRecord } from './lease-record.ts'
import { createLeases, type Leases } from './leases.ts'
import { createLocalTokens } from './local-tokens.ts'

const makeKey = () => {
  const pair: { privateKey: KeyObject; publicKey: KeyObject } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
  })
  const jwk = publicJwk.parse(pair.publicKey.export({ format: 'jwk' }))
  return { ...pair, jwk, jkt: thumbprint(jwk) }
}
const issuer = 'https://identity.example'
const nodeId = 'a'.repeat(56)
const endpoint = 'http://127.0.0.1:8083/token'
const authority = makeKey()
const holder = makeKey()
const stranger = makeKey()
const clock = createFakeClock()
const start = clock.now()
const day = 86_400_000

let folder: string
let state: { accountId: string; revokedUntil: Record<string, number> }
let isOnline: boolean
let timeState: 'trusted' | 'held' | 'unknown'
/** Whether a check fails in an unexpected way. */
let isBroken: boolean
/** Whether the issuer answers that nothing changed. */
let isUnchanged: boolean
let list: { seq: number; revoked: string[]; not_before: object; epochs: object; restarted?: true }
let callers: Callers
let leases: Leases
let record: LeaseStore
let unreported: number
/** Called when a list is requested. */
let onFetch: () => void
/** Owners of the proofs that were checked. */
let proofOwners: (string | undefined)[]

const deviceClock = () =>
  ({
    ...clock,
    state: () => timeState,
    monotonic: () => performance.now(),
    elapsed: () => clock.now() - start,
  }) as never

/** The runtime, as it starts on its files. */
async function open(node = nodeId): Promise<void> {
  const log = createMemoryLog()
  const own = deviceClock()
  const local = createLocalTokens(node, own)
  record = await openLeaseRecord(folder)
  callers = openCallers({
    nodeId: node,
    state: {
      get value() {
        return { ...initialState, ...state }
      },
    } as never,
    clock: own,
    notices: createNotices(clock, log),
    tenants: {
      issuers: [
        {
          issuer,
          findKey: (kid) => (kid === 'k' ? authority.publicKey : undefined),
          refresh: async () => false,
          fetchedAt: () => undefined,
        },
      ],
      cloud: undefined as never,
      onChange: () => undefined,
    },
    lists: await openLists(folder),
    intervalSeconds: 3600,
    overTls: false,
    clientFor: () => ({ revocations: async () => fetchList() }) as never,
    onOwnNode: () => undefined,
    ownTokens: local,
  })
  leases = createLeases({
    ...{ ...callers, nodeId: node, clock: own, record, local, log, maxListAgeDays: 7 },
    dpop: {
      ...callers.dpop,
      verify(proof, request) {
        proofOwners.push(request.owner)
        return callers.dpop.verify(proof, request)
      },
    },
    expectStillValid(claims, access) {
      if (isBroken) throw new Error('a fault of the program')
      callers.expectStillValid(claims, access)
    },
    url: () => endpoint,
    onUnreported: () => void unreported++,
  })
}
function fetchList() {
  onFetch()
  if (!isOnline) throw new ConnectionFailure('not_running', 'the network is gone')
  if (isUnchanged) return 'unchanged' as const
  const iat = seconds(clock)
  const claims = {
    iss: issuer,
    sub: issuer,
    aud: revocationsAudience,
    iat,
    exp: iat + 30 * 86_400,
    jti: 'list',
  }
  const token = signJws(
    { typ: 'revocations+jwt', kid: 'k' },
    { ...claims, mark: `m${list.seq}`, ...list },
    authority.privateKey,
  )
  return { token, etag: `"${list.seq}"` }
}
async function close(): Promise<void> {
  await callers.revocations.stop()
  await record.close()
}
async function restart(node = nodeId): Promise<void> {
  await close()
  await open(node)
}

beforeEach(async () => {
  clock.set(start)
  folder = mkdtempSync(join(tmpdir(), 'leases-'))
  state = { accountId: 'account', revokedUntil: {} }
  isOnline = true
  isUnchanged = false
  timeState = 'trusted'
  unreported = 0
  isBroken = false
  onFetch = () => undefined
  proofOwners = []
  list = { seq: 1, revoked: [], not_before: {}, epochs: {} }
  await open()
  await callers.revocations.fetchNow()
  await record.settled()
  isOnline = false
})
afterEach(async () => {
  await close()
  rmSync(folder, { recursive: true })
})

const claimsWith = (more: Partial<LeaseClaims> | Record<string, unknown> = {}): LeaseClaims =>
  ({
    iss: issuer,
    sub: 'account',
    aud: nodeUrn(nodeId),
    client_id: 'client',
    azp: 'client',
    scope: 'openid edge:mcm',
    iat: Math.floor(start / 1000) - 100,
    exp: Math.floor(start / 1000) + 30 * 86_400,
    jti: 'lease',
    auth_time: 0,
    account_id: 'account',
    node_id: nodeId,
    sid: 'sign-in',
    epoch: 5,
    cnf: { jkt: holder.jkt },
    ...more,
  }) as LeaseClaims
const leaseWith = (
  more: Record<string, unknown> = {},
  typ = leaseProfile.typ,
  key = authority.privateKey,
  kid = 'k',
) => signJws({ typ, kid }, claimsWith(more), key)

type ProofInput = Partial<Parameters<typeof createProof>[0]>
const prove = (more: ProofInput = {}, key = holder) =>
  createProof({
    key: key.privateKey,
    jwk: key.jwk,
    htm: 'POST',
    htu: endpoint,
    clock,
    nonce: callers.nonce(),
    ...more,
  })

interface Attempt {
  readonly lease?: string
  readonly proof?: string
  readonly form?: Record<string, string>
}
const exchange = ({
  lease = leaseWith(),
  proof = prove(),
  form = {},
}: Attempt = {}): Promise<TokenResponse> =>
  leases.exchange(new Map(Object.entries({ grant_type: jwtBearerGrant, assertion: lease, ...form })), proof)
/** The error of an exchange that is refused. */
const refusal = (attempt: Attempt = {}): Promise<OAuthError> =>
  exchange(attempt).then(
    () => expect.unreachable('it was accepted'),
    (cause: unknown) => cause as OAuthError,
  )
/** `accepted`, or the error code and its text. */
const outcome = (attempt: Attempt = {}): Promise<string> =>
  exchange(attempt).then(
    () => 'accepted',
    (cause: unknown) => {
      if (cause instanceof OAuthError) return `${cause.code}: ${cause.message}`
      if (cause instanceof StoreError) return 'not stored'
      throw cause
    },
  )

const target = { host: '127.0.0.1:8083', method: 'POST', path: '/jsonrpc/v1' }
const associated = { caller: 'token', token: 'associated' } as const
/** How a method answers a token, sent as a parameter with a proof. */
async function use(
  token: string,
  more: { scope?: 'edge:mcm' | 'edge:clusters'; key?: typeof holder; proof?: false } = {},
) {
  const { key = holder, scope } = more
  const dpop =
    more.proof === false
      ? undefined
      : prove({ htu: 'http://127.0.0.1:8083/jsonrpc/v1', accessToken: token }, key)
  try {
    await callers.authorize(
      token,
      { ...associated, ...(scope && { scope }) },
      { ...target, dpop },
      'a method',
    )
    return 'accepted'
  } catch (cause) {
    if (cause instanceof RpcError) return cause.reason
    throw cause
  }
}

describe('while the identity service is not reachable, a lease', () => {
  it('is exchanged for a local token that is bound to the same key and lives at most ten minutes', async () => {
    const answer = await exchange()
    expect(answer).toMatchObject({ token_type: 'DPoP', scope: 'openid edge:mcm' })
    expect(answer.expires_in).toBeLessThanOrEqual(600)
    const { header, payload } = parseJws(answer.access_token)
    expect(header.typ).toBe('local-at+jwt')
    expect(payload).toMatchObject({
      iss: nodeUrn(nodeId),
      aud: nodeUrn(nodeId),
      cnf: { jkt: holder.jkt },
      node_id: nodeId,
    })
    expect(await use(answer.access_token, { scope: 'edge:mcm' })).toBe('accepted')
  })

  it('gives fewer scopes where fewer are asked for, never more', async () => {
    expect(await exchange({ form: { scope: 'edge:mcm' } })).toMatchObject({ scope: 'edge:mcm' })
    expect(await exchange({ form: { scope: 'edge:mcm openid' } })).toMatchObject({ scope: 'edge:mcm openid' })
    expect(await outcome({ form: { scope: 'edge:clusters' } })).toMatch(/^invalid_scope/)
    expect(await outcome({ form: { scope: 'edge:mcm edge:clusters' } })).toMatch(/^invalid_scope/)
    const { access_token } = await exchange({ form: { scope: 'openid' } })
    expect(await use(access_token, { scope: 'edge:mcm' })).toBe('insufficient_scope')
  })

  it('gives no scope that changes the account, whatever its issuer signed', async () => {
    const lease = leaseWith({ scope: 'openid edge:account:associate offline_access' })
    expect(await exchange({ lease })).toMatchObject({ scope: 'openid' })
  })

  it('ends its local token with itself', async () => {
    const answer = await exchange({ lease: leaseWith({ exp: Math.floor(start / 1000) + 90 }) })
    expect(answer.expires_in).toBe(90)
  })
})

describe('a lease is refused', () => {
  it.each<[why: string, claims: Record<string, unknown>, text: RegExp]>([
    ['of another node', { node_id: 'b'.repeat(56), aud: nodeUrn('b'.repeat(56)) }, /not meant for/],
    ['of another node with our audience', { node_id: 'b'.repeat(56) }, /for node b+; this is node a+/],
    ['for the audience of access tokens', { aud: edgeAudience }, /not meant for/],
    ['without a key', { cnf: undefined }, /cnf\.jkt/],
    ['with an empty key', { cnf: {} }, /cnf\.jkt/],
    ['with null as its key', { cnf: null }, /cnf\.jkt/],
    ['without a sign-in', { sid: undefined }, /"sid"/],
    ['of another issuer', { iss: 'https://other.example' }, /not trusted/],
    ['that this runtime issued to itself', { iss: nodeUrn(nodeId) }, /not trusted/],
    ['after its end', { exp: Math.floor(start / 1000) - 1 }, /expired at 2025-12-31T23:59:59/],
    ['at its end', { exp: Math.floor(start / 1000) }, /expired at 2026-01-01T00:00:00/],
    ['that claims to live longer than 400 days', { exp: Math.floor(start / 1000) + 401 * 86_400 }, /at most/],
    ['from the future', { iat: Math.floor(start / 1000) + 2 * 86_400 }, /begins/],
    ['of another account', { account_id: 'other' }, /^invalid_grant: the lease .*account other/],
    ['with another authorized party than its client', { azp: 'other' }, /azp/],
    ['with an epoch that is no number', { epoch: '9' }, /epoch/],
  ])('%s', async (_, claims, text) => {
    const found = await outcome({ lease: leaseWith(claims) })
    expect(found).toMatch(/^invalid_grant/)
    expect(found).toMatch(text)
  })

  it.each<[what: string, lease: () => string | Promise<string>]>([
    ['an access token', () => leaseWith({ aud: edgeAudience }, accessProfile.typ)],
    ['a developer ID token', () => leaseWith({}, developerIdProfile.typ)],
    ['a local token', async () => (await exchange()).access_token],
    ['a lease with another type', () => leaseWith({}, 'LEASE+JWT')],
    ['a lease that its client signed', () => leaseWith({}, leaseProfile.typ, holder.privateKey)],
    ['a lease of an unknown key', () => leaseWith({}, leaseProfile.typ, authority.privateKey, 'other')],
    ['a lease without a signature', () => `${leaseWith().split('.').slice(0, 2).join('.')}.`],
    ['a text', () => 'x'],
  ])('that is %s', async (_, lease) => {
    expect(await outcome({ lease: await lease() })).toMatch(/^invalid_grant/)
  })

  it.each<[why: string, proof: () => string, code: string]>([
    ['by another key', () => prove({}, stranger), 'invalid_grant'],
    ['without a nonce', () => prove({ nonce: undefined }), 'use_dpop_nonce'],
    [
      'with a forged nonce',
      () => prove({ nonce: `${seconds(clock).toString(36)}.${'A'.repeat(22)}` }),
      'use_dpop_nonce',
    ],
    [
      'for the address of the request',
      () => prove({ htu: 'http://localhost:8083/token' }),
      'invalid_dpop_proof',
    ],
    ['for the identity service', () => prove({ htu: `${issuer}/token` }), 'invalid_dpop_proof'],
    ['for another method', () => prove({ htm: 'GET' }), 'invalid_dpop_proof'],
    ['that is a text', () => 'x', 'invalid_dpop_proof'],
    ['that is the lease', () => leaseWith(), 'invalid_dpop_proof'],
  ])('with a proof %s', async (_, proof, code) => {
    expect(await outcome({ proof: proof() })).toMatch(new RegExp(`^${code}`))
  })

  it('with a proof that was used before, also by another lease of the same key', async () => {
    const proof = prove()
    expect(await outcome({ proof })).toBe('accepted')
    expect(await outcome({ proof })).toMatch(/^invalid_dpop_proof: .*used before/)
    expect(await outcome({ proof, lease: leaseWith({ jti: 'other' }) })).toMatch(/^invalid_dpop_proof/)
  })

  it('with a proof or a nonce of before a restart', async () => {
    const proof = prove()
    const nonce = callers.nonce()
    await restart()
    expect(await outcome({ proof })).toMatch(/^use_dpop_nonce/)
    expect(await outcome({ proof: prove({ nonce }) })).toMatch(/^use_dpop_nonce/)
    expect(await outcome()).toBe('accepted')
  })

  it('with a proof by another key, which the error names', async () => {
    expect(await outcome({ proof: prove({}, stranger) })).toMatch(/by another key than the lease is bound to/)
  })

  it('of another kind with the name of the parameter and of what it needs', async () => {
    expect(await outcome({ lease: leaseWith({}, developerIdProfile.typ) })).toMatch(/assertion needs a lease/)
  })

  it('with the cause of what was not decided here, and without one else', async () => {
    state = { ...state, accountId: 'other' }
    expect((await refusal()).cause).toBeInstanceOf(RpcError)
    expect(await refusal({ form: { client_id: 'other' } })).not.toHaveProperty('cause')
  })

  it('by a fault of the program as a fault, not as a lease that is not valid', async () => {
    isBroken = true
    await expect(exchange()).rejects.toThrow('a fault of the program')
  })

  it('when the account of the device changes while the identity service is asked', async () => {
    onFetch = () => {
      state = { ...state, accountId: 'other' }
    }
    expect(await outcome()).toMatch(/^invalid_grant: .*account/)
  })

  it('with a proof that is stored for issuer and account, so that no account uses up the memory of others', async () => {
    await exchange()
    expect(proofOwners).toEqual([`${issuer} account`])
  })

  it('by another client than it was issued to', async () => {
    expect(await outcome({ form: { client_id: 'other' } })).toMatch(/^invalid_grant: .*another client/)
    expect(await outcome({ form: { client_id: 'client' } })).toBe('accepted')
  })

  it('with another grant', async () => {
    expect(await outcome({ form: { grant_type: 'id_token_signin' } })).toMatch(/^unsupported_grant_type/)
  })

  it('without taking memory for proofs of anyone: it is verified first', async () => {
    for (let count = 0; count < 20; count++)
      expect(
        await outcome({ lease: leaseWith({}, leaseProfile.typ, stranger.privateKey), proof: 'x' }),
      ).toMatch(/signature/)
  })

  it('while the identity service is reachable: the client refreshes there', async () => {
    isOnline = true
    expect(await outcome()).toMatch(/^invalid_grant: this runtime reaches the identity service/)
    isOnline = false
    expect(await outcome()).toBe('accepted')
  })

  it('more often than a client needs it', async () => {
    let refused = ''
    for (let count = 0; count < 2000 && refused === ''; count++) {
      const found = await outcome()
      if (found !== 'accepted') refused = found
    }
    expect(refused).toMatch(/^temporarily_unavailable: .*this lease/)
    expect(await outcome({ lease: leaseWith({ jti: 'another' }) })).toBe('accepted')
  })

  it('while its use cannot be written', async () => {
    const faults = await createDiskFaults()
    faults.fail('write')
    expect(await outcome()).toBe('not stored')
    faults.repair()
    expect(await outcome()).toBe('accepted')
  })

  it('of a new sign-in, while a hundred wait to be reported', async () => {
    for (let count = 0; count < 100; count++)
      expect(await outcome({ lease: leaseWith({ jti: `l${count}`, sid: `s${count}` }) })).toBe('accepted')
    const other = await refusal({ lease: leaseWith({ jti: 'l', sid: 's' }) })
    expect(other).toMatchObject({ code: 'temporarily_unavailable', status: 503, retryAfter: 60 })
    const client = { client_id: 'other', azp: 'other' }
    expect(await outcome({ lease: leaseWith({ jti: 'l1', sid: 's1', ...client }) })).toMatch(/^temporarily/)
    expect(await outcome({ lease: leaseWith({ jti: 'l1', sid: 's1' }) })).toBe('accepted')
  })
})

describe('what is known of revocations', () => {
  const fetched = async (more: Partial<typeof list>) => {
    list = { ...list, seq: list.seq + 1, ...more }
    isOnline = true
    await callers.revocations.fetchNow()
    isOnline = false
  }

  it.each<[what: string, more: () => Partial<typeof list>]>([
    ['the lease', () => ({ revoked: [revocationEntry('id', 'lease')] })],
    ['the sign-in', () => ({ revoked: [revocationEntry('id', 'sign-in')] })],
    [
      'the account, by its epoch',
      () => ({
        epochs: { [revocationEntry('account', 'account')]: 6 },
        not_before: { [revocationEntry('account', 'account')]: 1 },
      }),
    ],
    ['the node', () => ({ epochs: { [revocationEntry('node', nodeId)]: 6 } })],
    ['the project', () => ({ epochs: { [revocationEntry('client', 'client')]: 6 } })],
    ['the leases of the project', () => ({ epochs: { [revocationEntry('lease', 'client')]: 6 } })],
  ])('ends a lease and its local token, also after a restart: %s', async (_, more) => {
    const { access_token } = await exchange()
    expect(await use(access_token)).toBe('accepted')
    await fetched(more())
    expect(await use(access_token)).toBe('token_revoked')
    expect(await outcome()).toMatch(/^invalid_grant: .*revoked/)
    await restart()
    expect(await outcome()).toMatch(/^invalid_grant: .*revoked/)
  })

  it('does not end a lease that was issued after the revocation', async () => {
    await fetched({ epochs: { [revocationEntry('account', 'account')]: 5 } })
    expect(await outcome()).toBe('accepted')
  })

  it('of the leases of a project leaves its access tokens alone', async () => {
    await fetched({ epochs: { [revocationEntry('lease', 'client')]: 6 } })
    const token = signJws(
      { typ: accessProfile.typ, kid: 'k' },
      { ...claimsWith({ aud: edgeAudience }), exp: Math.floor(start / 1000) + 60 },
      authority.privateKey,
    )
    expect(await use(token)).toBe('accepted')
  })

  it('counts for seven days after the list was confirmed, and no longer', async () => {
    clock.advance(7 * day)
    expect(await outcome()).toBe('accepted')
    clock.advance(1)
    expect(await outcome()).toMatch(/^invalid_grant: the list of revoked tokens was last confirmed/)
  })

  it('counts from the last answer that nothing changed, however old the list is', async () => {
    clock.advance(30 * day)
    isOnline = true
    isUnchanged = true
    await callers.revocations.fetchNow()
    await record.settled()
    isOnline = false
    clock.advance(6 * day)
    const lease = leaseWith({ exp: seconds(clock) + 60, iat: seconds(clock) - 60 })
    expect(await outcome({ lease })).toBe('accepted')
    await restart()
    expect(await outcome({ lease })).toBe('accepted')
  })

  it('counts for seven days over a restart as well', async () => {
    await restart()
    clock.advance(6 * day)
    expect(await outcome()).toBe('accepted')
    await restart()
    clock.advance(day + 1000)
    expect(await outcome()).toMatch(/last confirmed/)
  })

  it('is not newer after an unchanged answer while the clock is not confirmed', async () => {
    clock.advance(6 * day)
    timeState = 'held'
    isOnline = true
    await callers.revocations.fetchNow()
    isOnline = false
    await restart()
    expect(record.value.confirmedAt[issuer]).toBe(start)
  })

  it('counts from when the list was signed, if nothing else is known', async () => {
    await close()
    for (const file of ['leases.a', 'leases.b']) rmSync(join(folder, file))
    await open()
    expect(await outcome()).toBe('accepted')
    clock.advance(7 * day + 1)
    expect(await outcome()).toMatch(/last confirmed at 2026-01-01T00:00:00/)
  })

  it('is nothing without a list: a lease is refused', async () => {
    await close()
    rmSync(folder, { recursive: true })
    folder = mkdtempSync(join(tmpdir(), 'leases-'))
    await open()
    expect(await outcome()).toMatch(/^invalid_grant: this runtime has no list/)
  })

  it('is too little once the identity service was restored from a backup: leases of before are refused', async () => {
    clock.advance(1000)
    list = { seq: 1, revoked: [], not_before: {}, epochs: {}, restarted: true }
    isOnline = true
    await callers.revocations.fetchNow()
    isOnline = false
    expect(await outcome()).toMatch(/^invalid_grant: the identity service was restored/)
    expect(await outcome({ lease: leaseWith({ iat: seconds(clock) }) })).toMatch(/restored/)
    await restart()
    clock.advance(2 * day)
    expect(await outcome()).toMatch(/restored/)
    expect(await outcome({ lease: leaseWith({ iat: Math.floor(start / 1000) + 10 }) })).toBe('accepted')
  })
})

describe('the clock', () => {
  it('must not be behind what is known', async () => {
    timeState = 'unknown'
    expect(await outcome()).toMatch(/^invalid_grant: the clock of this device/)
  })

  it('may be a minute behind it', async () => {
    clock.advance(-60_000)
    expect(await outcome()).toBe('accepted')
    clock.advance(-1)
    expect(await outcome()).toMatch(/a time that has passed/)
  })

  it('set back after a lease was used is noticed, also after a restart', async () => {
    clock.advance(5 * day)
    expect(await outcome()).toBe('accepted')
    await restart()
    clock.set(start + 2 * day)
    expect(await outcome()).toMatch(/a time that has passed/)
    clock.set(start + 5 * day)
    expect(await outcome()).toBe('accepted')
  })

  it('two days behind the list that the identity service signed is noticed', async () => {
    clock.advance(-2 * day)
    expect(await outcome({ lease: leaseWith({ iat: seconds(clock) - 10 }) })).toMatch(
      /a time that has passed/,
    )
  })

  it('two days ahead ends leases early, and no later', async () => {
    clock.advance(2 * day)
    expect(await outcome({ lease: leaseWith({ exp: Math.floor(start / 1000) + 86_400 }) })).toMatch(
      /expired|end/,
    )
  })
})

describe('the account of the device', () => {
  it('must be that of the lease', async () => {
    state = { ...state, accountId: '' }
    expect(await outcome()).toMatch(/^invalid_grant: .*not associated/)
    state = { ...state, accountId: 'other' }
    expect(await outcome()).toMatch(/^invalid_grant: .*account/)
  })

  it('that was removed ends a local token that was issued later for a lease of before', async () => {
    clock.advance(10_000)
    const { access_token } = await exchange()
    state = { accountId: 'account', revokedUntil: { account: seconds(clock) - 5 } }
    expect(await use(access_token)).toBe('token_revoked')
  })

  it('that was removed and associated again accepts no lease and no local token of before', async () => {
    const { access_token } = await exchange()
    state = { accountId: 'account', revokedUntil: { account: seconds(clock) } }
    expect(await use(access_token)).toBe('token_revoked')
    expect(await outcome()).toMatch(/^invalid_grant: .*removed/)
    clock.advance(2000)
    expect(await outcome({ lease: leaseWith({ iat: seconds(clock) }) })).toBe('accepted')
  })
})

describe('a local token', () => {
  it('needs a proof of its key', async () => {
    const { access_token } = await exchange()
    expect(await use(access_token, { proof: false })).toBe('invalid_dpop_proof')
    expect(await use(access_token, { key: stranger })).toBe('invalid_dpop_proof')
  })

  it('expires within ten minutes', async () => {
    const { access_token } = await exchange()
    clock.advance(9 * 60_000)
    expect(await use(access_token)).toBe('accepted')
    clock.advance(60_001)
    expect(await use(access_token)).toBe('token_expired')
  })

  it('ends with the process that issued it', async () => {
    const { access_token } = await exchange()
    await restart()
    expect(await use(access_token)).toMatch(/^token_/)
    await exchange()
    expect(await use(access_token)).toMatch(/^token_/)
  })

  it('of another runtime is refused', async () => {
    const { access_token } = await exchange()
    await restart('b'.repeat(56))
    expect(await use(access_token)).toMatch(/^token_/)
  })

  it('that its holder signed is refused', async () => {
    const { access_token } = await exchange()
    const { header, payload } = parseJws(access_token)
    const forged = signJws(
      header as never,
      { ...payload, scope: 'edge:account:associate' },
      holder.privateKey,
    )
    expect(await use(forged)).toBe('token_untrusted')
  })

  it('is not what a lease is: neither opens what the other does', async () => {
    await exchange()
    expect(await use(leaseWith())).toMatch(/^token_/)
    expect(await use(leaseWith({ aud: edgeAudience }, localProfile.typ))).toMatch(/^token_/)
  })
})

describe('who worked on a lease', () => {
  it('is shown, and reported when the network is back, in parts that fit a request', async () => {
    expect([leases.shown(), unreported]).toEqual([[], 0])
    for (let count = 0; count < 10; count++)
      await exchange({ lease: leaseWith({ jti: `l${count}`, sid: `s${count}` }) })
    await exchange({ lease: leaseWith({ jti: 'l0', sid: 's0' }) })
    expect(leases.shown()).toHaveLength(10)
    expect(leases.shown()).toBe(leases.shown())
    isOnline = true
    await callers.revocations.fetchNow()
    expect(unreported).toBe(1)
    const first = leases.unreported()!
    expect(first).toHaveLength(8)
    await leases.reported(first)
    expect(leases.unreported()).toHaveLength(2)
    await leases.reported(leases.unreported()!)
    expect([leases.unreported(), leases.shown()]).toEqual([undefined, []])
  })

  it('is known after a restart, with the number of tokens', async () => {
    await exchange()
    await restart()
    clock.advance(60_000)
    await exchange()
    expect(leases.shown()).toEqual([
      {
        ...{ clientId: 'client', signIn: 'sign-in', tokens: 2 },
        firstAt: '2026-01-01T00:00:00.000Z',
        lastAt: '2026-01-01T00:01:00.000Z',
        leaseExpiresAt: '2026-01-31T00:00:00.000Z',
      },
    ])
  })

  it('is on the disk before the first token of a sign-in, and then once a minute', async () => {
    clock.advance(600_000)
    const written = vi.spyOn(record, 'update')
    const wroteBy = async (attempt?: Attempt) => {
      written.mockClear()
      await exchange(attempt)
      return written.mock.calls.length
    }
    expect([await wroteBy(), await wroteBy()]).toEqual([1, 0])
    expect(await wroteBy({ lease: leaseWith({ jti: 'other', sid: 'other' }) })).toBe(1)
    clock.advance(59_999)
    expect(await wroteBy()).toBe(0)
    clock.advance(1)
    expect([await wroteBy(), await wroteBy()]).toEqual([1, 0])
  })

  it('stays if it continues while it is reported', async () => {
    await exchange()
    const sent = leases.unreported()!
    await exchange()
    await leases.reported(sent)
    expect(leases.shown()).toMatchObject([{ tokens: 1 }])
  })
})
