import { generateKeyPairSync } from 'node:crypto'
import type { NodeStatement } from '@selvedge/protocol/tokens'
import { StoreError } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Node } from '../../registry/nodes/nodes.ts'
import { createEnrolment, type EnrolmentParts } from './enrolment.ts'

const clock = createFakeClock()
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { kty, crv, x, y } = publicKey.export({ format: 'jwk' })
const hmacKey = { kty, crv, x, y }
const statement = (more: object = {}) =>
  ({ name: 'pump', version: '1', services: [], hmac_key: hmacKey, ...more }) as unknown as NodeStatement

let known: Node | undefined
let saved: { node: Node; change: { isNews: boolean; accountBefore?: string; records?: { sql: string }[] } }[]
let taken: string[]
let isFull: boolean
let audited: object[]
let isFailing: Error | undefined
beforeEach(() => {
  known = undefined
  saved = []
  taken = []
  audited = []
  isFull = false
  isFailing = undefined
})

function create(enrolment: 'open' | 'code' = 'open', more: Partial<EnrolmentParts> = {}) {
  const parts: EnrolmentParts = {
    clock,
    issuer: () => 'https://identity.example',
    enrolment,
    nodes: {
      maxNodes: 5,
      find: async () => known,
      save: async (node, change) => {
        if (isFailing) throw isFailing
        saved.push({ node, change: change as never })
        return isFull ? undefined : (known = { ...node, blockedAt: known?.blockedAt ?? null })
      },
    },
    codes: { redeem: async (code) => code === 'RIGHT' },
    limits: { takeEnrolment: async (address) => void taken.push(address) },
    async leaseAudit(report) {
      audited.push(report)
      return []
    },
    async deviceAudit(change) {
      audited.push(change)
      return []
    },
    vitals: { find: async () => undefined },
    history: { record: () => [] },
    joins: { admit: async () => undefined },
    tenantVerifier: {} as never,
    trust: {} as never,
    revocations: {} as never,
    ...more,
  }
  const enrol = createEnrolment(parts)
  return (stated = statement()) => enrol.bringUpToDate('n1', stated, '192.0.2.1')
}

it('enrols a new node, with an HMAC secret of its own, and counts it for its address', async () => {
  const node = await create()()
  expect(node).toMatchObject({ nodeId: 'n1', name: 'pump', accountId: '', enrolledAt: clock.now() })
  expect(node.hmac.nodeKey).toBe(JSON.stringify(hmacKey))
  expect(node.hmac.secret).toMatch(/^[\w-]{43}$/)
  expect([saved.length, saved[0]!.change.isNews, taken]).toEqual([1, true, ['192.0.2.1']])
})

it('enrols with a code only, if codes are needed, and counts no address', async () => {
  const enrol = create('code')
  await expect(enrol()).rejects.toThrow(/enrolment needs a code/)
  await expect(enrol(statement({ enrolment_code: 'WRONG' }))).rejects.toThrow(/unknown, used or expired/)
  expect(saved).toEqual([])
  await enrol(statement({ enrolment_code: 'RIGHT' }))
  expect([saved.length, taken]).toEqual([1, []])
  // A known node needs no code again.
  await enrol(statement({ name: 'other' }))
  expect(saved).toHaveLength(2)
})

it('writes nothing for a repetition within a minute, then only when the node was last seen', async () => {
  const enrol = create()
  await enrol()
  clock.advance(59_999)
  await enrol()
  expect(saved).toHaveLength(1)
  clock.advance(1)
  await enrol()
  expect(saved.at(-1)!.change.isNews).toBe(false)
  expect(saved).toHaveLength(2)
})

it('writes vitals with the node, at most once a minute', async () => {
  const enrol = create()
  const vitals = { disk: null, clock: 'held', notices: [] } as never
  const recorded = () => saved.map(({ change }) => change.records?.map(({ sql }) => sql.split(' ')[0]))
  await enrol(statement({ vitals }))
  await enrol(statement({ vitals }))
  expect(recorded()).toEqual([['INSERT', 'DELETE']])
  clock.advance(60_000)
  await enrol(statement({ vitals }))
  expect(recorded()).toEqual([
    ['INSERT', 'DELETE'],
    ['INSERT', 'DELETE'],
  ])
})

it('removes vitals at once when the device withdraws them, and leaves them when it does not mention them', async () => {
  const enrol = create()
  await enrol()
  await enrol(statement({ vitals: null }))
  expect(saved.map(({ change }) => change.records?.map(({ sql }) => sql.split(' ')[0]))).toEqual([
    [],
    ['DELETE', 'DELETE'],
  ])
})

it('compares what a device of an account states with what it stated before, and writes a failing service', async () => {
  const compared: unknown[] = []
  const vitals = { disk: null, clock: 'held', notices: [] } as never
  const enrol = create('open', {
    vitals: { find: async () => ({ vitals, statedAt: 1 }) },
    history: {
      record(_, before, after) {
        compared.push([before.vitals, after.node.services])
        return []
      },
    },
  })
  await enrol()
  known = { ...known!, accountId: 'a' }
  const services = [{ id: 's', name: 's', image: 'x', state: 'failed' }]
  clock.advance(60_000)
  await enrol(statement({ vitals, services }))
  expect(compared).toEqual([[vitals, services]])
  expect(saved.at(-1)!.change.records!.map(({ sql }) => sql.split(' ').slice(0, 3).join(' '))).toEqual([
    'INSERT INTO device_vitals',
    'DELETE FROM device_needs',
    'INSERT INTO device_needs',
  ])
})

it.each([
  ['name', { name: 'other' }],
  ['version', { version: '2' }],
  ['services', { services: [{ id: 's' }] }],
  [
    'HMAC key',
    { hmac_key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }) },
  ],
])('writes a change of the %s at once', async (_, more) => {
  const enrol = create()
  await enrol()
  await enrol(statement(more))
  expect(saved.map(({ change }) => change.isNews)).toEqual([true, true])
})

it('agrees on a new secret only for another key of the node', async () => {
  const enrol = create()
  const before = (await enrol()).hmac
  expect((await enrol(statement({ name: 'other' }))).hmac).toEqual(before)
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const { hmac } = await enrol(statement({ hmac_key: other }))
  expect(hmac.secret).not.toBe(before.secret)
})

it('rejects a key that is not a point of the curve', async () => {
  const bad = statement({ hmac_key: { ...hmacKey, y: x } })
  await expect(create()(bad)).rejects.toMatchObject({ code: 'invalid_dpop_proof' })
})

it('rejects a blocked node before it writes, and one that was blocked while it was written', async () => {
  const enrol = create()
  const node = await enrol()
  known = { ...node, blockedAt: 1 }
  await expect(enrol(statement({ name: 'other' }))).rejects.toMatchObject({ code: 'access_denied' })
  expect(saved).toHaveLength(1)
})

it('rejects a node if its account is full, and names the limit', async () => {
  isFull = true
  await expect(create()(statement({ account: { id: '' } }))).rejects.toMatchObject({
    code: 'invalid_grant',
    message: expect.stringMatching(/has 5 nodes already.*limits\.nodes/),
  })
})

it('states the account before only if the node states its account', async () => {
  const enrol = create()
  await enrol()
  expect(saved[0]!.change).not.toHaveProperty('accountBefore')
  known = { ...known!, accountId: 'a1', removedAccount: 'a0' }
  await enrol(statement({ name: 'second' }))
  expect(saved[1]).toMatchObject({ node: { accountId: 'a1', removedAccount: 'a0' } })
  await enrol(statement({ account: { id: '' } }))
  expect(saved[2]).toMatchObject({
    node: { accountId: '', removedAccount: '' },
    change: { accountBefore: 'a1' },
  })
})

it('what a node does not mention stays as it is', async () => {
  const enrol = create()
  const silent = { version: undefined, services: undefined }
  expect(await enrol(statement(silent))).toMatchObject({ version: '', services: [] })
  const services = [{ id: 's' }] as never
  known = { ...known!, version: '7', services, removedAccount: 'r', accountEpoch: 5, accountAt: 6 }
  await enrol(statement(silent))
  expect(saved).toHaveLength(1)
  await enrol(statement({ ...silent, name: 'other' }))
  expect(saved[1]!.node).toMatchObject({
    ...{ version: '7', services, removedAccount: 'r', accountEpoch: 5, accountAt: 6 },
  })
})

it('records what changed, and each report of used leases at once', async () => {
  const enrol = create()
  await enrol(statement({ account: { id: '' } }))
  const before = known
  const common = { nodeId: 'n1', address: '192.0.2.1' }
  expect(audited).toEqual([
    { before: undefined, after: before, token: undefined, address: '192.0.2.1' },
    { ...common, accounts: [undefined, ''], uses: [] },
  ])
  expect(saved[0]!.change).toMatchObject({ accountBefore: '' })
  const uses = [{ jti: 'j' }] as never
  await enrol(statement({ leases: uses }))
  expect(audited.slice(2)).toEqual([{ ...common, accounts: ['', ''], uses }])
  expect(saved.map(({ change }) => change.isNews)).toEqual([true, false])
})

describe('with a database that only reads', () => {
  const refusal = new StoreError('database: it only reads', { cause: { code: '25006' } })
  const enrolKnown = async (failure: Error = refusal) => {
    const enrol = create()
    await enrol()
    clock.advance(60_000)
    isFailing = failure
    return enrol
  }

  it('answers for a known node with what is stored', async () => {
    const enrol = await enrolKnown()
    expect(await enrol(statement({ name: 'other', version: '2' }))).toMatchObject({
      name: 'pump',
      version: '1',
    })
  })

  it.each([
    ['a report of used leases', { leases: [] }],
    ['withdrawn vitals', { vitals: null }],
    [
      'another HMAC key',
      { hmac_key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }) },
    ],
    ['another account', { account: { id: '' } }],
  ])('refuses what would be lost: %s', async (_, more) => {
    const enrol = await enrolKnown()
    known = { ...known!, accountId: 'a' }
    await expect(enrol(statement(more))).rejects.toBe(refusal)
    known = { ...known!, accountId: '', removedAccount: 'a' }
    await expect(enrol(statement(more))).rejects.toBe(refusal)
  })

  it('refuses a new node, and any other failure', async () => {
    isFailing = refusal
    await expect(create()()).rejects.toBe(refusal)
    isFailing = undefined
    const other = new StoreError('database: gone', { cause: { code: 'CONNECTION_CLOSED' } })
    const enrol = await enrolKnown(other)
    await expect(enrol()).rejects.toBe(other)
  })
})
