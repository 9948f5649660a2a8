/** The runtime's side of the list of revoked tokens, with a network that lies. */

import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ConnectionFailure, type IdentityClient } from '@selvedge/client'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { createTokenVerifier, revocationEntry, signJws } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../../tests/harness/installed.ts'
import { randomOf } from '../../../../../tests/harness/seed.ts'
import { createNotices, type Notices } from '../node/notices.ts'
import { createRevocations, openLists, type Revocations, type RevocationsParts } from './revocations.ts'

const random = randomOf('revocations')

const issuer = 'https://identity.example'
const nodeId = 'a'.repeat(56)
const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const clock = createFakeClock()
const now = () => Math.floor(clock.now() / 1000)
const verifier = createTokenVerifier({
  issuers: () => [{ issuer, findKey: () => own.publicKey }],
  clock,
  remembered: 0,
})
const claims = (more: object = {}): AccessClaims =>
  ({
    iss: issuer,
    jti: 't1',
    sid: 's1',
    iat: now(),
    account_id: 'a1',
    node_id: nodeId,
    client_id: 'c1',
    ...more,
  }) as AccessClaims

interface Listed {
  readonly iss?: string
  readonly revoked?: readonly string[]
  readonly before?: Readonly<Record<string, number>>
  readonly seq?: number
  readonly iat?: number
  readonly key?: typeof own
  readonly aud?: string
  readonly mark?: string
  readonly since?: number
  readonly ended?: readonly string[]
  readonly restarted?: true
}

const listOf = ({
  revoked = [],
  before = {},
  seq = 1,
  iat = now(),
  key = own,
  aud = 'urn:selvedge:revocations',
  ...more
}: Listed) =>
  signJws(
    { typ: 'revocations+jwt', kid: 'k' },
    {
      iss: issuer,
      sub: issuer,
      aud,
      iat,
      exp: iat + 86_400,
      jti: `l${random.below(2 ** 32)}`,
      seq,
      revoked,
      not_before: before,
      ...more,
    },
    key.privateKey,
  )

let folder: string
let list: string | 'unchanged' | Error
let lastHeld: unknown
let isTimeTrusted: boolean
let intervalSeconds: number
let asked: number
let ownNode: number
let revocations: Revocations
let notices: Notices
const open = async (more: Partial<RevocationsParts> = {}) =>
  createRevocations({
    store: await openLists(folder),
    nodeId,
    clock,
    notices,
    issuers: [
      {
        issuer,
        client: {
          revocations: async (held: unknown) => {
            asked++
            lastHeld = held
            if (list instanceof Error) throw list
            return list === 'unchanged' ? list : { token: list, etag: `"${asked}"` }
          },
        } as unknown as IdentityClient,
      },
    ],
    verifier,
    isTimeTrusted: () => isTimeTrusted,
    intervalSeconds,
    onOwnNode: () => void ownNode++,
    ...more,
  })
/** One look at the list that is there now. */
async function look(next: typeof list): Promise<void> {
  list = next
  await revocations.stop()
  revocations = await open()
  revocations.start()
  for (const before = asked; asked === before; ) await new Promise((resolve) => setTimeout(resolve, 10))
  await revocations.stop()
  revocations = await open()
}
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'revocations-'))
  list = listOf({})
  asked = 0
  ownNode = 0
  isTimeTrusted = true
  intervalSeconds = 3600
  notices = createNotices(clock, createMemoryLog())
  revocations = await open()
})
afterEach(async () => {
  await revocations.stop()
  rmSync(folder, { recursive: true })
})

const token = (id: string) => revocationEntry('id', id)

it('without a list nothing is revoked', () => expect(revocations.reasonFor(claims())).toBeUndefined())

it('what is listed is refused, and stays so after a restart without a network', async () => {
  await look(listOf({ revoked: [token('t1')] }))
  expect(revocations.reasonFor(claims())).toBe('it was revoked')
  expect(revocations.reasonFor(claims({ jti: 't2' }))).toBeUndefined()
})

it.each([
  ['a revoked sign-in also revokes the tokens that were issued with it', { revoked: [token('s1')] }],
  ['an account', { before: { [revocationEntry('account', 'a1')]: now() + 1 } }],
  ['a node', { before: { [revocationEntry('node', nodeId)]: now() + 1 } }],
  ['a client', { before: { [revocationEntry('client', 'c1')]: now() + 1 } }],
])('%s', async (_, listed) => {
  await look(listOf(listed))
  expect(revocations.reasonFor(claims())).toMatch(/revoked|blocked|turned off/)
  expect(revocations.reasonFor(claims({ jti: 't2', sid: 's2', iat: now() + 1 }))).toBeUndefined()
})

it('a token of another issuer is not for this list to judge', async () => {
  await look(listOf({ revoked: [token('t1')] }))
  expect(revocations.reasonFor(claims({ iss: 'https://other.example' }))).toBeUndefined()
})

it.each([
  ['is signed with another key', { key: stranger }],
  ['was made for something else', { aud: 'urn:selvedge:edge' }],
  ['has a smaller number and was signed before', { seq: 1, iat: now() - 3600 }],
])('a list that %s is refused: what was revoked stays revoked', async (_, lie) => {
  await look(listOf({ revoked: [token('t1')], seq: 5 }))
  await look(listOf({ revoked: [], seq: 6, ...lie }))
  expect(revocations.reasonFor(claims())).toBe('it was revoked')
})

const shown = () => notices.list().map(({ reason }) => reason)

it('a service that lost its data is trusted again, and nothing becomes valid again', async () => {
  await look(listOf({ revoked: [token('t1')], seq: 5 }))
  clock.advance(3_600_000)
  await look(listOf({ revoked: [token('t2')], seq: 1 }))
  expect(shown()).toEqual(['revocations_restarted'])
  expect(revocations.reasonFor(claims({ jti: 't2' }))).toBe('it was revoked')
  expect(revocations.reasonFor(claims())).toBe('it was revoked')
  // Once every token of then has expired, nothing of it is left.
  clock.advance(2 * 86_400_000)
  await look(listOf({ revoked: [token('t2')], seq: 2 }))
  expect(shown()).toEqual([])
  expect(revocations.reasonFor(claims())).toBeUndefined()
})

it('an account that was revoked by a list that is lost stays revoked for the tokens of then', async () => {
  const account = revocationEntry('account', 'a1')
  await look(listOf({ before: { [account]: now() + 100 }, seq: 5 }))
  await look(listOf({ before: { [account]: now() - 100 }, seq: 3, iat: now() + 1 }))
  expect(revocations.reasonFor(claims())).toMatch(/account/)
})

it('adds changed entries to the list, and removes expired ones', async () => {
  await look(listOf({ revoked: [token('t1'), token('t2')], seq: 5, mark: 'm5' }))
  await look(listOf({ revoked: [token('t3')], ended: [token('t2')], since: 5, seq: 7, mark: 'm7' }))
  expect(lastHeld).toMatchObject({ seq: 5, mark: 'm5' })
  const reasons = ['t1', 't2', 't3'].map((jti) => revocations.reasonFor(claims({ jti })))
  expect(reasons).toEqual(['it was revoked', undefined, 'it was revoked'])
  await look('unchanged')
  expect(lastHeld).toMatchObject({ seq: 7, mark: 'm7' })
})

it('changes since another state are refused: what was revoked stays revoked', async () => {
  await look(listOf({ revoked: [token('t1')], seq: 5, mark: 'm5' }))
  for (const since of [4, 6]) {
    await look(listOf({ ended: [token('t1')], since, seq: 7, mark: 'm7' }))
    expect(shown()).toEqual(['revocations_refused'])
    expect(revocations.reasonFor(claims())).toBe('it was revoked')
  }
})

it('a state that the service does not know any more raises a notice, and makes nothing valid again', async () => {
  await look(listOf({ revoked: [token('t1')], seq: 5, mark: 'm5' }))
  await look(listOf({ revoked: [], restarted: true, seq: 9, mark: 'm9' }))
  expect(shown()).toEqual(['revocations_restarted'])
  expect(revocations.reasonFor(claims())).toBe('it was revoked')
})

it('a clock that was two days ahead once blocks no later list', async () => {
  await look(listOf({ revoked: [token('t1')], seq: 5, mark: 'm5' }))
  const ahead = now() + 2 * 86_400
  await look(
    listOf({ revoked: [token('t2')], ended: [token('t1')], since: 5, seq: 6, mark: 'm6', iat: ahead }),
  )
  expect(shown()).toEqual(['revocations_wrong_time'])
  // What it ends by that clock has not ended.
  expect(revocations.reasonFor(claims())).toBe('it was revoked')
  expect(revocations.reasonFor(claims({ jti: 't2' }))).toBe('it was revoked')
  await look(listOf({ revoked: [token('t3')], since: 6, seq: 7, mark: 'm7' }))
  expect(shown()).toEqual([])
  expect(revocations.reasonFor(claims({ jti: 't3' }))).toBe('it was revoked')
})

it('a device that does not know the time judges no list by it', async () => {
  isTimeTrusted = false
  await look(listOf({ revoked: [token('t1')], iat: now() + 10 * 365 * 86_400 }))
  expect(shown()).toEqual([])
  expect(revocations.reasonFor(claims())).toBe('it was revoked')
})

it('a list that is too large raises a notice; a service that does not answer does not', async () => {
  await look(new ConnectionFailure('not_running', 'nothing answers'))
  expect(shown()).toEqual([])
  await look(new ConnectionFailure('bad_answer', 'the answer is larger than 16777216 bytes'))
  expect(shown()).toEqual(['revocations_refused'])
})

it('a service that answers three times without a list raises a notice', async () => {
  intervalSeconds = 0.02
  list = new ConnectionFailure('timeout', 'did not answer within 60000 ms')
  await revocations.stop()
  revocations = await open()
  revocations.start()
  while (asked < 2) await pause(5)
  expect(shown()).toEqual([])
  while (shown().length === 0) await pause(5)
  expect(asked).toBeGreaterThanOrEqual(3)
  list = listOf({})
  while (shown().length > 0) await pause(5)
})

describe('on a full disk', needs('mounts'), () => {
  it('a list decides at once, is fetched again, and is stored as soon as there is room', async () => {
    await revocations.stop()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=0700', 'tmpfs', folder])
    try {
      intervalSeconds = 0.02
      list = listOf({ seq: 4, mark: 'm4' })
      revocations = await open()
      revocations.start()
      while (lastHeld === undefined || !(lastHeld as { seq?: number }).seq) await pause(5)
      const filler = join(folder, 'filler')
      try {
        writeFileSync(filler, Buffer.alloc(1024 * 1024))
      } catch {
        // Full, as it should be.
      }
      const many = Array.from({ length: 500 }, (_, at) => token(`other-${at}`))
      list = listOf({ revoked: [...many, token('t1')], since: 4, seq: 5, mark: 'm5' })
      while (shown().length === 0) await pause(5)
      expect(shown()).toEqual(['revocations_not_stored'])
      expect(revocations.reasonFor(claims())).toBe('it was revoked')
      const before = asked
      while (asked < before + 3) await pause(5)
      // It is still asked for by what is on the disk.
      expect(lastHeld).toMatchObject({ seq: 4, mark: 'm4' })
      rmSync(filler)
      while (shown().length > 0) await pause(5)
      await revocations.stop()
      list = new ConnectionFailure('not_running', 'nothing answers')
      revocations = await open()
      expect(revocations.reasonFor(claims())).toBe('it was revoked')
      await revocations.stop()
    } finally {
      execFileSync('umount', ['-l', folder])
      revocations = await open()
    }
  })
})

it('a list that contains this node is reported once', async () => {
  const spoken = listOf({ before: { [revocationEntry('node', nodeId)]: now() + 1 } })
  await look(spoken)
  await look('unchanged')
  expect(ownNode).toBe(1)
})

it('shows a notice from a list that it does not accept until it accepts one', async () => {
  await look(listOf({ seq: 5 }))
  expect(shown()).toEqual([])
  await look('no.list.at-all')
  expect(shown()).toEqual(['revocations_refused'])
  await look('unchanged')
  expect(shown()).toEqual([])
  await look(listOf({ seq: 4, iat: now() - 3600 }))
  expect(shown()).toEqual(['revocations_refused'])
})

it('a list of 100,000 tokens is accepted', async () => {
  const many = Array.from({ length: 100_000 }, (_, at) => token(`other-${at}`))
  await look(listOf({ revoked: [...many, token('t1')] }))
  expect(revocations.reasonFor(claims())).toBe('it was revoked')
})

it('a stored list with a time beyond every date does not keep the runtime from starting', async () => {
  await look(listOf({ revoked: [token('t1')] }))
  await revocations.stop()
  const store = await openLists(folder)
  await store.update(({ lists }) => ({
    lists: { ...lists, [issuer]: { ...lists[issuer]!, iat: Number.MAX_SAFE_INTEGER } },
  }))
  await store.close()
  revocations = await open()
  expect(revocations.status().issuedAt).toBe('9999-12-31T23:59:59.999Z')
  expect(revocations.reasonFor(claims())).toBeDefined()
})

describe('what is known of the list of an issuer', () => {
  it('is nothing without a list', () => {
    expect(revocations.knowledgeOf(issuer)).toEqual({
      issuedAt: undefined,
      confirmedAt: Number.NEGATIVE_INFINITY,
      restartedAt: undefined,
    })
  })

  it('is when it was signed, and when it was last found to be the newest', async () => {
    const from = performance.now()
    list = listOf({ iat: now() - 60 })
    expect(await revocations.fetchNow()).toBe(true)
    const { confirmedAt, ...known } = revocations.knowledgeOf(issuer)
    expect(known).toEqual({ issuedAt: now() - 60, restartedAt: undefined })
    expect(confirmedAt).toBeGreaterThanOrEqual(from)
    expect(confirmedAt).toBeLessThanOrEqual(performance.now())
    expect(revocations.knowledgeOf('https://other.example').issuedAt).toBeUndefined()
  })

  it('is when its issuer was found to be restored from a backup', async () => {
    list = listOf({ seq: 5 })
    await revocations.fetchNow()
    clock.advance(3_600_000)
    list = listOf({ seq: 1 })
    await revocations.fetchNow()
    expect(revocations.knowledgeOf(issuer)).toMatchObject({ issuedAt: now(), restartedAt: now() })
  })

  it('is reported with each answer that it is the newest, and with no other', async () => {
    await revocations.fetchNow()
    const confirmed: string[] = []
    revocations.onConfirmed((from) => confirmed.push(from))
    list = 'unchanged'
    await revocations.fetchNow()
    list = new ConnectionFailure('not_running', 'down')
    expect(await revocations.fetchNow()).toBe(false)
    expect(confirmed).toEqual([issuer])
  })
})

it('the status has the age of the oldest list', async () => {
  const other = 'https://other.example'
  const client = (iss: string, iat: number) =>
    ({ revocations: async () => ({ token: listOf({ iss, iat }), etag: '"1"' }) }) as unknown as IdentityClient
  await revocations.stop()
  revocations = await open({
    issuers: [
      { issuer, client: client(issuer, now() - 60) },
      { issuer: other, client: client(other, now()) },
    ],
    verifier: createTokenVerifier({
      issuers: () => [issuer, other].map((each) => ({ issuer: each, findKey: () => own.publicKey })),
      clock,
      remembered: 0,
    }),
  })
  await revocations.fetchNow()
  expect(revocations.status()).toEqual({
    checkedAt: isoTime(clock.now()),
    issuedAt: isoTime(clock.now() - 60_000),
  })
})
