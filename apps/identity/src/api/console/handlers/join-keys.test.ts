/** What an owner does to join keys: for which account, and what the audit log has of it. */
import { RpcError } from '@selvedge/protocol'
import { StoreError } from '@selvedge/service-kit/store'
import { beforeEach, expect, it } from 'vitest'
import type { AuditEntry } from '../../../storage/audit/audit.ts'
import { joinKeyHandlers } from './join-keys.ts'

const actor = {
  person: { personId: 'p', email: 'ada@example.com' },
  membership: { accountId: 'a', name: 'a', role: 'owner' },
} as never
const context = { address: '192.0.2.1' }
const shown = { keyId: 'k', title: '', uses: 5, expiresAt: '2027-01-01T00:00:00.000Z' }

let calls: unknown[]
let entries: AuditEntry[]
let failure: Error | undefined
let rule: boolean
let handlers: ReturnType<typeof joinKeyHandlers>
beforeEach(() => {
  calls = []
  entries = []
  failure = undefined
  rule = false
  handlers = joinKeyHandlers({
    joinKeys: {
      async create(key) {
        calls.push(key)
        return { secret: 'secret', shown: { ...shown, title: key.title } as never }
      },
      list: async (accountId) => [accountId] as never,
      async revoke(...of) {
        calls.push(of)
        return shown as never
      },
      find: async () => undefined,
    },
    joinUses: {
      join: () => undefined as never,
      queue: async () => true,
      waiting: async (accountId) => [accountId] as never,
      async decide(...of) {
        if (failure && of[1] === 'n2') throw failure
        calls.push(of)
      },
    },
    joinRules: {
      find: async () => ({ approve: rule }),
      async set(...of) {
        calls.push(of)
        rule = of[1].approve
      },
    },
    joinBlocks: {
      async block(...of) {
        calls.push(of)
        return { blocked: 3, toBlock: 1 }
      },
    },
    audit: { record: async (entry: AuditEntry) => void entries.push(entry) } as never,
  })
})

const asked = { name: 'n', uses: 5, approve: false, until: '2027-01-01T00:00:00Z' }

it('makes a key for the account and the owner, and records neither the secret nor a tag twice', async () => {
  const input = { ...asked, title: 'line 2', tags: ['x', 'x'], project: null }
  const made = await handlers['join_key.create'](input, actor, context)
  expect(made).toEqual({ key: 'secret', joinKey: { ...shown, title: 'line 2' } })
  expect(calls).toEqual([
    {
      ...asked,
      ...{ title: 'line 2', tags: ['x'], project: '', accountId: 'a', madeBy: 'p' },
      until: Date.parse(asked.until),
    },
  ])
  await handlers['join_key.create']({ ...asked, title: '', tags: [], project: 'c' }, actor, context)
  expect(calls[1]).toMatchObject({ project: 'c' })
  const entry = { accountId: 'a', actor: 'ada@example.com', action: 'join_key.create', subject: 'k' }
  expect(entries).toEqual(
    ['line 2', 'k'].map((name) => ({
      ...{ ...entry, address: '192.0.2.1', outcome: 'ok' },
      detail: `${name}, for 5 devices until ${shown.expiresAt}`,
    })),
  )
})

it('shows the keys and the waiting devices of the account', async () => {
  expect(await handlers['join_key.list']({}, actor, context)).toEqual(['a'])
  expect(await handlers['join.waiting']({}, actor, context)).toEqual(['a'])
})

it('revokes a key, and blocks its devices only with them', async () => {
  const revoke = (devices: boolean) => handlers['join_key.revoke']({ keyId: 'k', devices }, actor, context)
  expect(await revoke(false)).toEqual({ blocked: 0, toBlock: 0 })
  expect(await revoke(true)).toEqual({ blocked: 3, toBlock: 1 })
  expect(calls).toEqual([
    ['a', 'k', ''],
    ['a', 'k', 'ada@example.com'],
    ['k', '192.0.2.1'],
  ])
  expect(entries.map(({ action, subject, detail }) => [action, subject, detail])).toEqual([
    ['join_key.revoke', 'k', 'k'],
    ['join_key.revoke', 'k', 'k, and blocks its devices'],
  ])
})

it.each([
  ['join.approve', 'approved'],
  ['join.refuse', 'refused'],
] as const)('%s decides each device once, and one that fails stops no other', async (name, state) => {
  failure = new RpcError('not_found', 'no')
  const result = await handlers[name]({ nodeIds: ['n1', 'n2', 'n3', 'n1'] }, actor, context)
  expect(result).toEqual({
    done: ['n1', 'n3'],
    failed: [{ nodeId: 'n2', reason: 'not_found', message: 'no' }],
  })
  expect(calls).toEqual([
    ['a', 'n1', state],
    ['a', 'n3', state],
  ])
  expect(entries.map(({ action, subject }) => [action, subject])).toEqual([
    [name, 'n1'],
    [name, 'n3'],
  ])
})

it('names a full disk, and hides any other failure', async () => {
  failure = new StoreError('full', { cause: { code: 'ENOSPC' } })
  const decide = async () => handlers['join.approve']({ nodeIds: ['n2'] }, actor, context)
  expect(await decide()).toMatchObject({ failed: [{ nodeId: 'n2', reason: 'storage_full' }] })
  failure = new Error('a bug')
  await expect(decide()).rejects.toThrow('a bug')
})

it('changes the rule of the account, and records each change once', async () => {
  expect(await handlers['join.rules']({}, actor, context)).toEqual({ approve: false })
  for (let at = 0; at < 2; at++)
    expect(await handlers['join.set_rules']({ approve: true }, actor, context)).toEqual({ approve: true })
  expect(calls).toEqual([
    ['a', { approve: true }],
    ['a', { approve: true }],
  ])
  expect(entries).toMatchObject([
    { action: 'join.set_rules', accountId: 'a', detail: 'approval: as the key states → each device' },
  ])
})
