/** The runtime's side of the list of revoked tokens, with a network that lies. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { IdentityClient } from '@selvedge/client'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { createTokenVerifier, revocationEntry, signJws } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createNotices, type Notices } from '../node/notices.ts'
import { createRevocations, openLists, type Revocations } from './revocations.ts'

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
  readonly revoked?: readonly string[]
  readonly before?: Readonly<Record<string, number>>
  readonly seq?: number
  readonly iat?: number
  readonly key?: typeof own
  readonly aud?: string
}

const listOf = ({
  revoked = [],
  before = {},
  seq = 1,
  iat = now(),
  key = own,
  aud = 'urn:selvedge:revocations',
}: Listed) =>
  signJws(
    { typ: 'revocations+jwt', kid: 'k' },
    {
      iss: issuer,
      sub: issuer,
      aud,
      iat,
      exp: iat + 86_400,
      jti: `l${Math.random()}`,
      seq,
      revoked,
      not_before: before,
    },
    key.privateKey,
  )

let folder: string
let list: string | 'unchanged'
let asked: number
let ownNode: number
let revocations: Revocations
let notices: Notices
const open = async () =>
  createRevocations({
    store: await openLists(folder),
    nodeId,
    clock,
    notices,
    issuers: [
      {
        issuer,
        client: {
          revocations: async () => {
            asked++
            return list === 'unchanged' ? list : { token: list, etag: `"${asked}"` }
          },
        } as unknown as IdentityClient,
      },
    ],
    verifier,
    interval: 3600,
    onOwnNode: () => void ownNode++,
  })
/** One look at the list that is there now. */
async function look(next: string | 'unchanged'): Promise<void> {
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
  ['a sign-in takes what came of it', { revoked: [token('s1')] }],
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
  ['is signed by somebody else', { key: stranger }],
  ['was made for something else', { aud: 'urn:selvedge:edge' }],
  ['was signed before the one that is held', { iat: now() - 3600 }],
  ['has a smaller number', { seq: 1 }],
])('a list that %s is not taken: what was revoked stays revoked', async (_, lie) => {
  await look(listOf({ revoked: [token('t1')], seq: 5 }))
  await look(listOf({ revoked: [], seq: 6, ...lie }))
  expect(revocations.reasonFor(claims())).toBe('it was revoked')
})

it('a service that began anew is believed again: its list is younger', async () => {
  await look(listOf({ revoked: [token('t1')], seq: 5 }))
  clock.advance(3_600_000)
  await look(listOf({ revoked: [], seq: 1 }))
  expect(revocations.reasonFor(claims())).toBeUndefined()
})

it('a list that speaks of this very node is told, once', async () => {
  const spoken = listOf({ before: { [revocationEntry('node', nodeId)]: now() + 1 } })
  await look(spoken)
  await look('unchanged')
  expect(ownNode).toBe(1)
})

it('shows a notice from a list that it does not accept until it accepts one', async () => {
  const shown = () => notices.list().map(({ reason }) => reason)
  await look(listOf({ seq: 5 }))
  expect(shown()).toEqual([])
  await look('no.list.at-all')
  expect(shown()).toEqual(['revocations_refused'])
  await look('unchanged')
  expect(shown()).toEqual([])
  await look(listOf({ seq: 4 }))
  expect(shown()).toEqual(['revocations_refused'])
})

it('a list of 100,000 tokens is accepted', async () => {
  const many = Array.from({ length: 100_000 }, (_, at) => token(`other-${at}`))
  await look(listOf({ revoked: [...many, token('t1')] }))
  expect(revocations.reasonFor(claims())).toBe('it was revoked')
})
