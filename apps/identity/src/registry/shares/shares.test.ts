/** What shares and groups show, and their limits; what ends them is in the suite. */
import { userLimits } from '@selvedge/protocol/tokens'
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GrantStore, openGrantStore } from '../../../../../tests/harness/grants.ts'
import { createGroups, type Groups } from './groups.ts'
import { createShares, type Shares } from './shares.ts'

const day = 86_400_000
const guest = '11111111-2222-4333-8444-555555555555'
const clock = createFakeClock()
const start = clock.now()
let opened: GrantStore
let shares: Shares
let groups: Groups

beforeEach(async () => {
  clock.set(start)
  opened = await openGrantStore(clock)
  const { store, revocations } = opened
  shares = createShares({ store, clock, revocations })
  groups = createGroups({ store, clock, revocations })
  await store.transaction([
    sql`INSERT INTO accounts (account_id, email, created_at) VALUES ('a', 'ada@example.com', 0)`,
    sql`INSERT INTO accounts (account_id, email, created_at) VALUES ('b', 'bob@example.com', 0)`,
    ...['ada', 'bob', guest].map(
      (id) =>
        sql`INSERT INTO people (person_id, email, password, created_at) VALUES (${id}, ${`${id}@example.com`}, '', 0)`,
    ),
    sql`INSERT INTO members VALUES ('a', 'ada', 'owner', 0)`,
    sql`INSERT INTO members VALUES ('a', 'bob', 'member', 0)`,
    sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
      VALUES ('c', 'p', 'a', '', '', 1, 0)`,
    ...['n', 'm'].map(
      (
        id,
      ) => sql`INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at,
        version, services, removed_account) VALUES (${id}, 'node', 'a', '', '', '', 0, 0, '', '[]', '')`,
    ),
  ])
})
afterEach(() => opened.close())

const add = (more: object = {}) =>
  shares.add({
    ...{ accountId: 'a', nodeId: 'n', clientId: 'c', service: 'van', madeBy: 'ada', with: guest },
    ...{ until: clock.now() + day, ...more },
  })
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => '',
    ({ reason, message }) => `${reason}: ${message}`,
  )

describe('a share', () => {
  const shared = {
    ...{ shareId: expect.any(String), nodeId: 'n', clientId: 'c', service: 'van', madeBy: 'ada@example.com' },
    ...{ until: '2026-01-02T00:00:00.000Z', createdAt: '2026-01-01T00:00:00.000Z' },
  }

  it('with a person shows the address if the account knows it, otherwise the ID', async () => {
    expect(await add()).toEqual({ ...shared, with: guest, kind: 'person' })
    expect(await add({ with: 'BOB@example.com' })).toEqual({
      ...shared,
      with: 'bob@example.com',
      kind: 'person',
    })
  })

  it('with a group shows its name', async () => {
    await groups.create('a', 'drivers')
    const made = await add({ with: 'drivers' })
    expect(made).toEqual({ ...shared, with: 'drivers', kind: 'group' })
    const [row] = await opened.store.run(sql`SELECT person_id FROM service_shares`)
    expect(row!.person_id).toBe('')
    expect(await reasonOf(add({ with: 'pilots' }))).toBe('not_found: the account has no group "pilots"')
  })

  it('is in the list of its account and its device', async () => {
    await add()
    await add({ nodeId: 'm', service: 'boat' })
    const listed = async (...of: [string, string?]) =>
      (await shares.list(...of)).map(({ service }) => service)
    expect((await listed('a')).sort()).toEqual(['boat', 'van'])
    expect(await listed('a', 'n')).toEqual(['van'])
    expect(await listed('a', 'x')).toEqual([])
    expect(await listed('b')).toEqual([])
  })

  it('lasts from a minute to 400 days', async () => {
    const refusal = 'invalid_params: a share lasts from a minute to 400 days'
    const lasting = (ms: number) => reasonOf(add({ until: clock.now() + ms }))
    expect(await lasting(60_000)).toBe('')
    expect(await lasting(59_999)).toBe(refusal)
    expect(await lasting(400 * day)).toBe('')
    expect(await lasting(400 * day + 1)).toBe(refusal)
    expect(await lasting(Number.NaN)).toBe(refusal)
  })

  it('needs the device, the project and the owner of the account', async () => {
    const changed = 'conflict: the device, the group or your role has changed meanwhile'
    expect(await reasonOf(add({ nodeId: 'x' }))).toBe(changed)
    expect(await reasonOf(add({ clientId: 'x' }))).toBe(changed)
    expect(await reasonOf(add({ madeBy: 'bob' }))).toBe(changed)
    expect(await reasonOf(add({ accountId: 'b' }))).toBe(changed)
  })

  it('is one of at most 1000 of an account', async () => {
    await add()
    const copy = sql`INSERT INTO service_shares SELECT share_id || '-' || number.value, account_id, node_id, account_epoch, client_id, service,
        person_id, group_id, made_by, created_at, expires_at, revoked_at
      FROM service_shares, json_each(${JSON.stringify(Array.from({ length: userLimits.sharesOfAccount - 2 }, (_, at) => at))}) AS number`
    await opened.store.run(copy)
    const last = await add()
    const full = 'limit_exceeded: an account has at most 1000 shares'
    expect(await reasonOf(add())).toBe(full)
    await shares.remove('a', last.shareId)
    expect(await reasonOf(add())).toBe('')
  })
})

describe('a group', () => {
  const create = (name = 'drivers', accountId = 'a') => groups.create(accountId, name)

  it('is made with its name, and listed with its people', async () => {
    const made = await create()
    expect(made).toEqual({
      groupId: expect.any(String),
      ...{ name: 'drivers', createdAt: '2026-01-01T00:00:00.000Z', people: [] },
    })
    expect(await groups.list('a')).toEqual([made])
    expect(await groups.add('a', made.groupId, guest)).toBe('drivers')
    clock.advance(1)
    await groups.add('a', made.groupId, 'bob@example.com')
    expect(await groups.list('a')).toEqual([
      {
        ...made,
        people: [
          { personId: guest, email: '' },
          { personId: 'bob', email: 'bob@example.com' },
        ],
      },
    ])
    expect(await groups.of('a', 'bob')).toEqual([{ id: expect.any(String), name: 'drivers' }])
    expect(await groups.of('b', 'bob')).toEqual([])
  })

  it('has a name of its own in its account', async () => {
    await create()
    await create('others')
    expect(await reasonOf(create())).toBe('already_exists: the account has a group drivers already')
    expect(await reasonOf(create('drivers', 'b'))).toBe('')
  })

  it('is one of at most 50 of an account', async () => {
    for (let at = 0; at < userLimits.groupsOfAccount; at++) await create(`g${at}`)
    expect(await reasonOf(create('more'))).toBe('limit_exceeded: an account has at most 50 groups')
    expect(await reasonOf(create('g0'))).toBe('already_exists: the account has a group g0 already')
  })

  it('has a person once', async () => {
    const { groupId } = await create()
    await groups.add('a', groupId, guest)
    expect(await groups.add('a', groupId, guest)).toBe('drivers')
    expect((await groups.list('a'))[0]!.people).toHaveLength(1)
  })

  it('is one of at most 16 of a person in an account', async () => {
    const made = []
    for (let at = 0; at <= userLimits.groups; at++) made.push(await create(`g${at}`))
    const last = made.pop()!
    for (const { groupId } of made) await groups.add('a', groupId, guest)
    expect(await reasonOf(groups.add('a', last.groupId, guest))).toBe(
      'limit_exceeded: a group has at most 200 people, and a person is in at most 16 groups of an account',
    )
    expect(await groups.add('a', made[0]!.groupId, guest)).toBe('g0')
  })

  it('belongs to its account alone', async () => {
    const { groupId } = await create()
    const noGroup = 'not_found: the account has no such group'
    expect(await reasonOf(groups.add('b', groupId, guest))).toBe(noGroup)
    expect(await reasonOf(groups.remove('b', groupId))).toBe(noGroup)
    await groups.add('a', groupId, guest)
    const noPerson = 'not_found: the group of the account has no such person'
    expect(await reasonOf(groups.removePerson('b', groupId, guest))).toBe(noPerson)
    expect(await reasonOf(groups.removePerson('a', groupId, 'bob'))).toBe(noPerson)
    expect(await groups.removePerson('a', groupId, guest)).toBe('drivers')
    expect(await groups.remove('a', groupId)).toBe('drivers')
    expect(await reasonOf(groups.remove('a', groupId))).toBe(noGroup)
    expect(await groups.list('a')).toEqual([])
  })
})
