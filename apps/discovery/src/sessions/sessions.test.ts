/** What the session of a node contains, and when it expires. */
import { precisions, type SessionRequest } from '@selvedge/protocol'
import type { EdgeIdClaims } from '@selvedge/protocol/tokens'
import type { Revocable } from '@selvedge/service-kit/revocations'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { type NodeSession, offerSession } from '@selvedge/service-kit/tokens'
import { beforeEach, describe, expect, it } from 'vitest'
import { migrations } from '../schema.ts'
import { createSessions, openSecret, type SessionsParts } from './sessions.ts'

const clock = createFakeClock()
const start = clock.now()
const issuer = 'https://identity.example'
const secret = Buffer.alloc(32, 7)
const times = { lifeSeconds: 3600, reportSeconds: 20 }
/** Tokens that the service looked up in the lists of revoked tokens. */
let questions: Revocable[]
let reason: string | undefined

beforeEach(() => {
  clock.set(start)
  questions = []
  reason = undefined
})

const sessionsOf = (change: Partial<SessionsParts> = {}) =>
  createSessions({
    ...{ secret, clock, times, issuers: ['https://other.example', issuer] },
    revokedReason: (claims) => {
      questions.push(claims)
      return reason
    },
    ...change,
  })

const claims = {
  iss: issuer,
  iat: 1_700_000_000.75,
  node_id: 'ab'.repeat(28),
  node_name: 'pümp',
} as unknown as EdgeIdClaims
const request = { sharing: { account: 'exact', others: 'city' }, trackUntil: 5 }

function begin(sessions = sessionsOf(), of: object = {}, owner = { accountId: 'a~ü', term: 3 }, more = {}) {
  const offer = offerSession()
  const answer = sessions.begin({ ...claims, ...of } as EdgeIdClaims, owner, {
    key: offer.jwk,
    ...request,
    ...more,
  } as SessionRequest)
  return { answer, session: offer.complete(answer, () => clock.now()) }
}

function nodeOf(session: NodeSession, sessions = sessionsOf()) {
  const about = { method: 'POST', path: '/v1/fixes', body: '{}' }
  try {
    return sessions.nodeOf({ ...about, authorization: session.authorize('POST', '/v1/fixes', '{}') })
  } catch (cause) {
    return (cause as Error).message
  }
}

describe('a session', () => {
  it('contains what it began with, at each replica with the secret', () => {
    const { session, answer } = begin()
    expect(answer).toMatchObject({ expires_in: 3600, report_within: 20 })
    clock.advance(2000)
    expect(nodeOf(session)).toEqual({
      nodeId: claims.node_id,
      nodeName: 'pümp',
      accountId: 'a~ü',
      sharing: request.sharing,
      trackUntil: 5,
      term: 3,
      sentAt: start + 2000,
    })
  })

  it.each(precisions.flatMap((account) => precisions.map((others) => [account, others] as const)))(
    'has the precisions %s and %s',
    (account, others) => {
      const { session } = begin(undefined, {}, undefined, { sharing: { account, others } })
      expect(nodeOf(session)).toMatchObject({ sharing: { account, others } })
    },
  )

  it('may have the largest numbers, and an empty account and name', () => {
    const most = 2 ** 48 - 1
    const { session } = begin(
      undefined,
      { node_name: '' },
      { accountId: '', term: most },
      { trackUntil: most },
    )
    expect(nodeOf(session)).toMatchObject({ accountId: '', nodeName: '', term: most, trackUntil: most })
  })

  it('is not one of a service with another secret', () => {
    const { session } = begin()
    expect(nodeOf(session, sessionsOf({ secret: Buffer.alloc(32, 8) }))).toMatch(/not signed with the key/)
  })

  it('expires', () => {
    const { session } = begin()
    clock.advance(3_599_999)
    expect(nodeOf(session)).toMatchObject({ accountId: 'a~ü' })
    clock.advance(1)
    expect(nodeOf(session)).toMatch(/has expired/)
  })

  it('ends when its issuer is not trusted any more', () => {
    const { session } = begin()
    expect(nodeOf(session, sessionsOf({ issuers: ['https://other.example'] }))).toBe(
      'the issuer of the session is not trusted',
    )
  })

  it('ends when the edge ID token that it began with is revoked', () => {
    const { session } = begin()
    reason = 'its node was blocked'
    expect(nodeOf(session)).toBe('the session was revoked: its node was blocked')
    expect(questions).toEqual([{ iss: issuer, jti: '', iat: 1_700_000_000, node_id: claims.node_id }])
  })

  it.each([0, 12])('is looked up with the epoch %i of that token', (epoch) => {
    nodeOf(begin(undefined, { epoch }).session)
    expect(questions).toMatchObject([{ epoch }])
  })
})

describe('the key of an account', () => {
  const keyOf = (sessions = sessionsOf(), of: object = {}, accountId = 'a') => {
    const { answer, session } = begin(sessions, of, { accountId, term: 0 })
    return session.open(answer.account_key)!.toString('hex')
  }

  it('is the same for its nodes, at each replica', () => {
    expect(keyOf()).toMatch(/^[0-9a-f]{64}$/)
    expect(keyOf(sessionsOf(), { node_id: 'cd'.repeat(28), account_epoch: 0 })).toBe(keyOf())
  })

  it('is another one for another account, after a node left, and with another secret', () => {
    const all = [
      keyOf(),
      keyOf(sessionsOf(), {}, 'b'),
      keyOf(sessionsOf(), { account_epoch: 1 }),
      keyOf(sessionsOf({ secret: Buffer.alloc(32, 8) })),
    ]
    expect(new Set(all).size).toBe(4)
  })
})

it('the replicas of a service share the secret that the first of them made', async () => {
  const [store, other] = [openMemoryStore(migrations), openMemoryStore(migrations)]
  const made = await openSecret(store)
  expect(made).toHaveLength(32)
  expect(await openSecret(store)).toEqual(made)
  expect(await openSecret(other)).not.toEqual(made)
  await store.close()
  await other.close()
})
