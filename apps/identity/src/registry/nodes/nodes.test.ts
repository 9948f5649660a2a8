/** What a node may change of itself, and what its owner and the operator decide. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GrantStore, openGrantStore } from '../../../../../tests/harness/grants.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { createNodes, describeNode, type Node, type Nodes } from './nodes.ts'

const clock = createFakeClock()
const start = clock.now()
const seal = createSeal([Buffer.alloc(32, 9)])
let opened: GrantStore
let nodes: Nodes
let learned: Node[]

beforeEach(async () => {
  clock.set(start)
  opened = await openGrantStore(clock)
  nodes = createNodes({ ...opened, clock, seal, maxNodes: 2 })
  learned = []
})
afterEach(() => opened.close())

const plain: Node = {
  ...{
    nodeId: 'n',
    name: 'van',
    accountId: '',
    hmac: { nodeKey: '{}', cloudKey: '{"c":1}', secret: 'secret words' },
  },
  ...{
    enrolledAt: 1,
    lastSeenAt: 2,
    blockedAt: null,
    version: '1.0.0',
    removedAccount: '',
    accountEpoch: 0,
    accountAt: 0,
  },
  services: [{ id: 'i', name: 's', image: 'x', state: 'running' }] as never,
}
const save = (more: Partial<Node> = {}, change: Partial<Parameters<Nodes['save']>[1]> = {}) =>
  nodes.save({ ...plain, ...more }, { isNews: true, ...change })
const join = (nodeId: string, accountId = 'a') => save({ nodeId, accountId }, { accountBefore: '' })
const isRevoked = (node_id: string) =>
  opened.revocations.reasonFor({ jti: 'x', iat: 0, node_id }) !== undefined
const watch = () => nodes.onChange((node) => void learned.push(node))

it('a full account still has its nodes, and one without an account counts for no account', async () => {
  await join('n')
  await join('m')
  expect(await save({ accountId: 'a', version: '2' }, { accountBefore: 'a' })).toMatchObject({ version: '2' })
  expect(await save({ accountId: 'a', version: '3' })).toMatchObject({ version: '3' })
  for (const nodeId of ['x', 'y', 'z']) expect(await save({ nodeId }, { accountBefore: '' })).toBeDefined()
  expect(await join('x')).toBeUndefined()
  expect(await save({ nodeId: 'x', accountId: 'a' })).toMatchObject({ accountId: '' })
  expect(await save({}, { accountBefore: 'a' })).toMatchObject({ accountId: '' })
})

describe('a node', () => {
  it('is read as it was saved, with its secret encrypted for it', async () => {
    expect(await nodes.find('n')).toBeUndefined()
    expect(await save()).toEqual(plain)
    expect(await nodes.find('n')).toEqual(plain)
    const [row] = await opened.store.run(sql`SELECT hmac_secret FROM nodes`)
    expect(seal.isSealed(row!.hmac_secret as string)).toBe(true)
    expect(() => seal.open(row!.hmac_secret as string, 'HMAC secret of node m')).toThrow()
    expect(seal.open(row!.hmac_secret as string, 'HMAC secret of node n')).toBe('secret words')
    expect(nodes.maxNodes).toBe(2)
  })

  it('of an old database has a secret that is not encrypted, until it is saved', async () => {
    await save()
    await opened.store.run(sql`UPDATE nodes SET hmac_secret = 'plain'`)
    const [node] = await nodes.list()
    expect(node!.hmac.secret).toBe('plain')
    await nodes.save(node!, { isNews: true })
    const [row] = await opened.store.run(sql`SELECT hmac_secret FROM nodes`)
    expect(seal.open(row!.hmac_secret as string, 'HMAC secret of node n')).toBe('plain')
  })

  it('is described to the operator without its secret', () => {
    const { services, hmac, version, removedAccount, accountEpoch, accountAt, ...shown } = plain
    const described = {
      ...shown,
      enrolledAt: '1970-01-01T00:00:00.001Z',
      lastSeenAt: '1970-01-01T00:00:00.002Z',
    }
    expect(describeNode(plain)).toEqual(described)
    expect(describeNode({ ...plain, blockedAt: 3 })).toEqual({
      ...described,
      blockedAt: '1970-01-01T00:00:00.003Z',
    })
  })

  it('states its name, version and services, and neither its account nor a block by that', async () => {
    await join('n')
    await nodes.setBlocked('n', true)
    const stated = { name: 'truck', version: '2.0.0', services: [], lastSeenAt: 9 }
    const saved = await save({ ...stated, accountId: 'b', removedAccount: 'c', blockedAt: null })
    expect(saved).toMatchObject({ ...stated, accountId: 'a', removedAccount: '', blockedAt: start })
    expect(await save({ nodeId: 'new', accountId: 'a' })).toMatchObject({ accountId: '' })
  })

  it('joins an account with what it stated, and its records are written with it', async () => {
    const records = [sql`INSERT INTO settings VALUES ('record', '1')`]
    expect(await save({ accountId: 'a', removedAccount: 'x' }, { accountBefore: '', records })).toMatchObject(
      {
        accountId: 'a',
        removedAccount: 'x',
        accountEpoch: 0,
        accountAt: 0,
      },
    )
    expect(await opened.store.run(sql`SELECT value FROM settings`)).toEqual([{ value: '1' }])
    expect(await nodes.list('a')).toHaveLength(1)
    expect(await nodes.list('b')).toEqual([])
  })

  it('that was given to another account meanwhile keeps that one', async () => {
    await join('n', 'b')
    for (const accountBefore of ['', 'a'])
      expect(await save({ accountId: 'a' }, { accountBefore })).toMatchObject({
        accountId: 'b',
        accountAt: 0,
      })
    expect(await save({ accountId: '' }, { accountBefore: 'a' })).toMatchObject({ accountId: 'b' })
    expect(await nodes.accountKeyEpoch('a')).toBe(0)
  })

  it('that leaves its account changes the key of the account, and notes when', async () => {
    await join('n')
    clock.advance(5)
    expect(await nodes.accountKeyEpoch('a')).toBe(0)
    const left = (await save({ accountId: '' }, { accountBefore: 'a' }))!
    expect(left).toMatchObject({ accountId: '', accountAt: start + 5, accountEpoch: opened.changes.epoch() })
    expect(await nodes.accountKeyEpoch('a')).toBe(left.accountEpoch)
    expect(await nodes.accountKeyEpoch('b')).toBe(0)
    await join('n', 'b')
    expect(await nodes.accountKeyEpoch('a')).toBe(left.accountEpoch)
  })

  it('that stays in its account changes no key', async () => {
    await join('n')
    expect(await save({ accountId: 'a' }, { accountBefore: 'a' })).toMatchObject({ accountAt: 0 })
    expect(await nodes.accountKeyEpoch('a')).toBe(0)
  })

  it('joins no full account, and one that is in it is saved', async () => {
    await join('one')
    await join('two')
    expect(await join('three')).toBeUndefined()
    expect(await nodes.find('three')).toBeUndefined()
    await save({ nodeId: 'three' })
    expect(await join('three')).toBeUndefined()
    expect(await nodes.find('three')).toMatchObject({ accountId: '' })
    expect(await join('one')).toMatchObject({ accountId: 'a' })
    expect(await save({ nodeId: 'two', accountId: 'a' }, { accountBefore: 'a' })).toMatchObject({
      accountId: 'a',
    })
    expect(await save({ nodeId: 'four', accountId: '' }, { accountBefore: '' })).toMatchObject({
      accountId: '',
    })
    expect(await join('three', 'b')).toMatchObject({ accountId: 'b' })
  })
})

describe('what changed', () => {
  it('is known to this process at once, with or without news', async () => {
    watch()
    await save()
    expect(learned).toEqual([plain])
    expect(await nodes.find('n')).toEqual(plain)
    const seen = { ...plain, lastSeenAt: 7 }
    expect(await nodes.save(seen, { isNews: false })).toEqual(seen)
    expect(learned).toEqual([plain, seen])
    expect(await nodes.find('n')).toEqual(seen)
  })

  it('without news is noted for no other replica, and written with its records', async () => {
    await save()
    const epoch = opened.changes.epoch()
    const records = [sql`INSERT INTO settings VALUES ('record', '1')`]
    await nodes.save({ ...plain, lastSeenAt: 7 }, { isNews: false, records })
    expect(opened.changes.epoch()).toBe(epoch)
    expect(await opened.store.run(sql`SELECT value FROM settings`)).toEqual([{ value: '1' }])
  })

  it('at another replica reaches those who listen', async () => {
    await save()
    await nodes.find('n')
    watch()
    await opened.store.run(sql`UPDATE nodes SET name = 'theirs'`)
    await opened.changes.commit(
      [],
      [
        ['node', 'n'],
        ['node', 'unknown'],
      ],
    )
    expect(learned).toEqual([{ ...plain, name: 'theirs' }])
    expect(await nodes.find('n')).toMatchObject({ name: 'theirs' })
  })
})

describe('a block', () => {
  it('revokes every token for the node, and changes the key of its account', async () => {
    await join('n')
    await join('m')
    clock.advance(3)
    watch()
    expect(await nodes.setBlocked('n', true)).toMatchObject({
      nodeId: 'n',
      accountId: 'a',
      blockedAt: start + 3,
    })
    expect([isRevoked('n'), isRevoked('m')]).toEqual([true, false])
    expect(await nodes.find('m')).toMatchObject({ blockedAt: null })
    expect(await nodes.accountKeyEpoch('a')).toBe(opened.changes.epoch())
    expect(learned).toMatchObject([{ nodeId: 'n', blockedAt: start + 3 }])
  })

  it('of a node without an account changes no key', async () => {
    await save()
    await nodes.setBlocked('n', true)
    expect(await opened.store.run(sql`SELECT 1 AS one FROM account_keys`)).toEqual([])
  })

  it('that is removed revokes nothing', async () => {
    await join('n')
    expect(await nodes.setBlocked('n', false)).toMatchObject({ blockedAt: null })
    expect(isRevoked('n')).toBe(false)
    expect(await nodes.accountKeyEpoch('a')).toBe(0)
    await nodes.setBlocked('n', true)
    expect(await nodes.setBlocked('n', false)).toMatchObject({ blockedAt: null })
    expect(await nodes.find('n')).toMatchObject({ blockedAt: null })
  })

  it('and the removal of an account name a node that is not there', async () => {
    const missing = { reason: 'not_found', message: 'there is no node with the ID n' }
    await expect(nodes.setBlocked('n', true)).rejects.toMatchObject(missing)
    await expect(nodes.removeAccount('n')).rejects.toMatchObject(missing)
  })
})

describe('the removal of an account', () => {
  it('revokes every token for the node, and what the node stated is forgotten', async () => {
    await join('n')
    await join('m')
    await opened.store.run(sql`INSERT INTO device_vitals VALUES ('n', 'a', '{}', 0)`)
    clock.advance(4)
    const removed = await nodes.removeAccount('n')
    expect(removed).toMatchObject({ accountId: '', removedAccount: 'a', accountAt: start + 4 })
    expect(removed.accountEpoch).toBeGreaterThan(0)
    expect(await nodes.accountKeyEpoch('a')).toBe(removed.accountEpoch)
    expect([isRevoked('n'), isRevoked('m')]).toEqual([true, false])
    expect(await nodes.find('m')).toMatchObject({ accountId: 'a' })
    expect(await opened.store.run(sql`SELECT 1 AS one FROM device_vitals`)).toEqual([])
  })

  it('is not undone by what the node stated before, and ends when the node confirms it', async () => {
    await join('n')
    await nodes.removeAccount('n')
    expect(await save({ accountId: 'a' }, { accountBefore: 'a' })).toMatchObject({
      accountId: '',
      removedAccount: 'a',
    })
    expect(await nodes.removeAccount('n')).toMatchObject({ removedAccount: 'a' })
    expect(await save({ accountId: '' }, { accountBefore: '' })).toMatchObject({ removedAccount: '' })
  })
})
