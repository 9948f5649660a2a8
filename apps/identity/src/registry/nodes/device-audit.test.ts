/** What a device does to its account is in the log of that account, with who made the token, and not without end. */
import { createHash } from 'node:crypto'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Audit, createAudit } from '../../storage/audit/audit.ts'
import { migrations } from '../../storage/schema.ts'
import { createDeviceAudit, type DeviceAudit } from './device-audit.ts'
import type { Node } from './nodes.ts'

let store: ReturnType<typeof openMemoryStore>
let audit: Audit
let deviceAudit: DeviceAudit
beforeEach(() => {
  store = openMemoryStore(migrations)
  audit = createAudit(store, createFakeClock(), { keepMs: 1e12, perAccount: 1000 })
  const makerOf = async (sid: string) => (sid === 'unknown' ? undefined : `maker of ${sid}`)
  deviceAudit = createDeviceAudit(audit, { makerOf })
})
afterEach(() => store.close())

const token = (claims: Partial<AccessClaims> = {}) =>
  ({ jti: 'jti', sid: 'sid', client_id: 'c', ...claims }) as AccessClaims
const before = (accountId: string, name = 'van') => ({ nodeId: 'n', name, accountId }) as Node

/** Writes the rows of a change, after the node is as it states. */
async function change(
  from: Node | undefined,
  accountId: string,
  { name = 'van', by, isWritten = true }: { name?: string; by?: AccessClaims; isWritten?: boolean } = {},
) {
  const after = { nodeId: 'n', name, accountId }
  await store.transaction([
    sql`DELETE FROM nodes`,
    sql`INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at)
      VALUES ('n', ${name}, ${isWritten ? accountId : 'elsewhere'}, '', '', '', 0, 0)`,
    ...(await deviceAudit({ before: from, after, token: by, address: '192.0.2.1' })),
  ])
}
const logOf = async (accountId: string) =>
  (await audit.list(accountId, 100)).map(({ action, actor, detail }) => `${action} | ${actor} | ${detail}`)

const joined = 'device.join | maker of sid | van, with a token of project c that came from sid'

it('a device that joins is in the log with the maker of its token', async () => {
  await change(undefined, 'a', { by: token() })
  expect(await audit.list('a', 10)).toMatchObject([
    { subject: 'n', address: '192.0.2.1', outcome: 'ok', accountId: 'a' },
  ])
  expect(await logOf('a')).toEqual([joined])
})

it.each([
  [token({ sid: undefined } as never), 'maker of jti', 'jti'],
  [token({ sid: 'unknown' }), 'project c', 'unknown'],
])(
  'the maker is found by the sid or the jti, and without one the project is named',
  async (by, maker, from) => {
    await change(before(''), 'a', { by })
    expect(await logOf('a')).toEqual([
      `device.join | ${maker} | van, with a token of project c that came from ${from}`,
    ])
  },
)

it('a device that moves is in the logs of both accounts', async () => {
  await change(before('a'), 'b', { by: token() })
  expect(await logOf('a')).toEqual(['device.leave | the device | van'])
  expect(await logOf('b')).toEqual([joined])
  await change(before('b'), '', { by: token() })
  expect(await logOf('b')).toContain('device.leave | the device | van')
  expect(await logOf('')).toEqual([])
})

it('a device that stays, or that has no account, is in no log', async () => {
  await change(before('a'), 'a', { by: token() })
  await change(undefined, 'a')
  await change(before(''), 'a')
  await change(before(''), '', { name: 'renamed', by: token() })
  await change(undefined, '')
  expect([await logOf('a'), await logOf('')]).toEqual([[], []])
})

it('a new name is in the log of the account', async () => {
  await change(before('a', 'old'), 'a')
  expect(await logOf('a')).toEqual(['device.rename | the device | old is now van'])
})

it('nothing is in a log of a change that was not written', async () => {
  await change(before('a', 'old'), 'b', { by: token(), isWritten: false })
  expect([await logOf('a'), await logOf('b')]).toEqual([[], []])
})

it('a device that renames itself without end fills no log', async () => {
  const nameOf = (at: number) => createHash('sha256').update(String(at)).digest('hex')
  for (let at = 0; at < 50; at++) await change(before('a', nameOf(at)), 'a', { name: nameOf(at + 1) })
  const rows = await logOf('a')
  expect(rows.length).toBeGreaterThanOrEqual(10)
  expect(rows.length).toBeLessThan(20)
})
