/** Sign-ins of terminals that wait for a person: who may decide, what a poll gets, and how many may wait. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createDeviceRequests, type DeviceRequests } from './device-requests.ts'

const clock = createFakeClock()
const start = clock.now()
const graceSeconds = 10
const lifeMs = 600_000
const asked = { clientId: 'c', scope: 'openid', jkt: 'key', address: '192.0.2.1', userAgent: 'curl' }
const ada = { accountId: 'a', personId: 'ada', email: 'ada@example.com', authTime: 5 }

let store: SqlStore
let requests: DeviceRequests
beforeEach(async () => {
  clock.set(start)
  store = openMemoryStore(migrations)
  requests = createDeviceRequests(store, clock, graceSeconds, () => 4)
  await store.transaction([
    sql`INSERT INTO accounts (account_id, email, created_at) VALUES ('a', 'a@example.com', 0)`,
    sql`INSERT INTO people (person_id, email, password, created_at) VALUES ('ada', 'ada@example.com', '', 0)`,
    sql`INSERT INTO members VALUES ('a', 'ada', 'owner', 0)`,
  ])
})
afterEach(() => store.close())

const create = (change: Partial<typeof asked> = {}) => requests.create({ ...asked, ...change })
const leave = () => store.run(sql`DELETE FROM members`)
const outcomeOf = async (deviceCode: string, clientId = 'c') =>
  (await requests.poll(deviceCode, clientId)).outcome
async function approve() {
  const created = await create()
  await requests.decide(created.userCode, ada)
  return created
}

describe('the person', () => {
  it('sees what waits, under the code in any spelling', async () => {
    const { userCode } = await create()
    expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    const { jkt, ...shown } = asked
    const expected = { ...shown, userCode, createdAt: '2026-01-01T00:00:00.000Z' }
    for (const typed of [userCode, userCode.toLowerCase(), ` ${userCode.replace('-', ' ')} `])
      expect(await requests.find(typed)).toEqual(expected)
    expect(await requests.find('BBBB-BBBB')).toBeUndefined()
  })

  it.each([
    ['approves', ada, 'approved'],
    ['refuses', undefined, 'denied'],
  ] as const)('%s once', async (_, by, outcome) => {
    const { userCode, deviceCode } = await create()
    expect(await requests.decide(userCode.toLowerCase(), by)).toBe(true)
    expect(await requests.find(userCode)).toBeUndefined()
    expect(await requests.decide(userCode, undefined)).toBe(false)
    expect(await requests.decide(userCode, ada)).toBe(false)
    expect(await outcomeOf(deviceCode)).toBe(outcome)
  })

  it('decides before the request expires', async () => {
    const { userCode } = await create()
    clock.advance(lifeMs - 1)
    expect(await requests.find(userCode)).toBeDefined()
    clock.advance(1)
    expect(await requests.find(userCode)).toBeUndefined()
    expect(await requests.decide(userCode, ada)).toBe(false)
  })

  it('does not approve for an account without being its member', async () => {
    const { userCode } = await create()
    await leave()
    expect(await requests.decide(userCode, ada)).toBe(false)
    expect(await requests.find(userCode)).toBeDefined()
  })
})

describe('an approved request', () => {
  it('has what was asked, and who approved it', async () => {
    const { deviceCode } = await approve()
    expect(await requests.poll(deviceCode, 'c')).toEqual({
      outcome: 'approved',
      approved: { ...asked, ...ada, epoch: 4, sid: expect.stringMatching(/^[\da-f-]{36}$/) },
    })
  })

  it('from before there were numbers of changes counts as older than all of them', async () => {
    const { deviceCode } = await approve()
    await store.run(sql`UPDATE device_requests SET epoch = NULL`)
    expect(await requests.poll(deviceCode, 'c')).toMatchObject({ approved: { epoch: 0 } })
  })

  it('is given out again for a lost answer, as the same sign-in, and then never', async () => {
    const { deviceCode } = await approve()
    const first = await requests.poll(deviceCode, 'c')
    clock.advance(graceSeconds * 1000)
    expect(await requests.poll(deviceCode, 'c')).toEqual(first)
    clock.advance(1)
    expect(await outcomeOf(deviceCode)).toBe('ended')
  })

  it('is not given out to another client', async () => {
    const { deviceCode } = await approve()
    expect(await outcomeOf(deviceCode, 'other')).toBe('unknown')
    expect(await outcomeOf(deviceCode)).toBe('approved')
  })

  it('is not given out after its person has left the account', async () => {
    const { deviceCode } = await approve()
    await leave()
    expect(await outcomeOf(deviceCode)).not.toBe('approved')
  })

  it('expires if the device does not poll', async () => {
    const { deviceCode } = await approve()
    clock.advance(lifeMs)
    expect(await outcomeOf(deviceCode)).toBe('ended')
  })
})

describe('a poll', () => {
  it('waits for the person, until the request expires', async () => {
    const { deviceCode } = await create()
    expect(await outcomeOf(deviceCode)).toBe('pending')
    clock.set(start + lifeMs - 1)
    expect(await outcomeOf(deviceCode)).toBe('pending')
    clock.set(start + lifeMs)
    expect(await outcomeOf(deviceCode)).toBe('ended')
  })

  it('that is too early makes the next interval longer', async () => {
    const { deviceCode } = await create()
    await outcomeOf(deviceCode)
    clock.advance(4499)
    expect(await outcomeOf(deviceCode)).toBe('too_fast')
    clock.advance(9499)
    expect(await outcomeOf(deviceCode)).toBe('too_fast')
    clock.advance(14_500)
    expect(await outcomeOf(deviceCode)).toBe('pending')
    clock.advance(14_500)
    expect(await outcomeOf(deviceCode)).toBe('pending')
  })

  it('half a second early is in time', async () => {
    const { deviceCode } = await create()
    await outcomeOf(deviceCode)
    clock.advance(4500)
    expect(await outcomeOf(deviceCode)).toBe('pending')
  })

  it('with an unknown code, or of another client, learns nothing', async () => {
    const { deviceCode } = await create()
    expect(await outcomeOf('x')).toBe('unknown')
    expect(await outcomeOf(deviceCode, 'other')).toBe('unknown')
  })
})

describe('a request is refused if too many wait', () => {
  const refused = { code: 'temporarily_unavailable', retryAfter: 60 }

  it('from its network', async () => {
    for (let made = 0; made < 30; made++) await create()
    await expect(create()).rejects.toMatchObject(refused)
    await create({ address: '192.0.2.2' })
    clock.advance(lifeMs)
    await create()
  })

  it('in all', async () => {
    await create()
    await store.run(
      sql`INSERT INTO device_requests WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
        SELECT 'h' || CAST(i AS TEXT), 'u' || CAST(i AS TEXT), client_id, scope, jkt, address, user_agent, created_at, expires_at, step,
          polled_at, too_fast, state, sid, used_at, account_id, person_id, email, auth_time, epoch, CAST(i AS TEXT)
        FROM n, device_requests`,
    )
    await expect(create()).rejects.toMatchObject(refused)
    clock.advance(lifeMs)
    await create()
  })
})

it('a user code that another request has is replaced, three times', async () => {
  const codes: unknown[] = []
  const once: SqlStore = {
    ...store,
    transaction: async (statements) => {
      codes.push(statements[0]!.values[1])
      return codes.length < 3 ? [[]] : store.transaction(statements)
    },
  }
  const { userCode } = await createDeviceRequests(once, clock, graceSeconds, () => 4).create(asked)
  expect(new Set(codes).size).toBe(3)
  expect(userCode.replace('-', '')).toBe(codes[2])
})
