/** Limits on the number of rows, on every store: fifty parallel requests leave exactly as many rows as the limit allows. */
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeOnStores } from '../../../../tests/harness/databases.ts'
import { openChanges } from '../storage/changes/changes.ts'
import { migrations } from '../storage/schema.ts'
import { createSeal } from '../storage/secrets/seal.ts'
import { createKnownBrowsers } from './credentials/known-browsers.ts'
import { createRecoveryCodes } from './credentials/recovery-codes.ts'
import { createNodes } from './nodes/nodes.ts'
import { createAccounts } from './people/accounts.ts'
import { createLinks, maxLinks } from './people/links.ts'
import { createDeveloperTokens } from './projects/developer-tokens.ts'
import { createProjects } from './projects/projects.ts'
import { createDeviceRequests } from './sign-ins/device-requests.ts'

const max = 5

/** Makes writes so slow that parallel ones overlap: each counts before the others are committed, unless they take turns. */
async function slowDown(store: SqlStore): Promise<void> {
  const sleep = 'BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END'
  await store.run({
    sql: `CREATE FUNCTION slow() RETURNS trigger AS '${sleep}' LANGUAGE plpgsql`,
    values: [],
  })
  const tables = [
    'projects',
    'developer_tokens',
    'nodes',
    'members',
    'links',
    'device_requests',
    'known_browsers',
  ]
  for (const table of tables)
    await store.run({
      sql: `CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION slow()`,
      values: [],
    })
}

describeOnStores(
  'on %s, of fifty parallel requests',
  (makeDatabase, kind) => {
    const clock = createFakeClock()
    const ends: (() => Promise<void>)[] = []
    /** Two replicas of one store; on SQLite, one. */
    let replicas: Awaited<ReturnType<typeof openReplica>>[]
    let accountId: string
    let personId: string

    async function openReplica(url: string) {
      const store = await openSql(url, migrations)
      const log = createMemoryLog()
      const changes = await openChanges({ store, clock, system: clock, log, maxAgeMs: 60_000 })
      ends.push(changes.stop, () => store.close())
      const parts = { store, clock, log, changes, seal: createSeal([Buffer.alloc(32, 9)]) }
      const keys = { sign: () => 'token', prepare: async () => undefined } as never
      const revocations = {} as never
      return {
        store,
        projects: createProjects({ ...parts, revocations, keys, maxProjects: max }),
        nodes: createNodes({ ...parts, revocations, maxNodes: max }),
        links: createLinks(store, clock, max),
        developerTokens: createDeveloperTokens({
          ...parts,
          keys,
          revocations,
          issuer: () => 'https://identity.example',
          epoch: () => 0,
          maxTokens: max,
        }),
        deviceRequests: createDeviceRequests(store, clock, 10, () => 0),
        recoveryCodes: createRecoveryCodes(store, clock),
        knownBrowsers: createKnownBrowsers(store, clock),
      }
    }

    beforeEach(async () => {
      const url = await makeDatabase()
      replicas = [await openReplica(url)]
      if (kind === 'postgres') replicas.push(await openReplica(url))
      const { store } = replicas[0]!
      accountId = (await createAccounts(store, clock).create('ada@example.com')).accountId
      const [member] = await store.run(sql`SELECT person_id FROM members`)
      personId = member!.person_id as string
      if (kind === 'postgres') await slowDown(store)
    })
    afterEach(async () => {
      for (const end of ends.splice(0)) await end()
    })

    /** @returns reasons of the refused ones, and how many succeeded */
    async function fifty(work: (replica: (typeof replicas)[number], at: number) => Promise<unknown>) {
      const all = await Promise.allSettled(
        Array.from({ length: 50 }, async (_, at) => work(replicas[at % replicas.length]!, at)),
      )
      const reasons = all.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
      const codes = reasons.map(({ reason, code }) => String(reason ?? code))
      return { succeeded: all.length - reasons.length, codes: [...new Set(codes)] }
    }
    const count = async (table: string) => {
      const rows = await (replicas[0]!.store as SqlStore).run({ sql: `SELECT * FROM ${table}`, values: [] })
      return rows.length
    }

    it('as many create a project as the account may have', async () => {
      const { succeeded, codes } = await fifty(({ projects }, at) =>
        projects.create({ name: `p${at}`, accountId, scopes: [], resources: [] }),
      )
      expect([succeeded, codes, await count('projects')]).toEqual([max, ['limit_exceeded'], max])
    })

    it('as many get a developer ID token as the account may have', async () => {
      const project = { name: 'p', accountId, scopes: [], resources: [] }
      const { clientId } = await replicas[0]!.projects.create(project)
      const subject = { accountId, personId, email: 'ada@example.com', authTime: 0 }
      const { succeeded, codes } = await fifty(({ developerTokens }) =>
        developerTokens.issue(subject, clientId, 3600),
      )
      expect([succeeded, codes, await count('developer_tokens')]).toEqual([max, ['limit_exceeded'], max])
    })

    it('as many nodes enrol into the account as it may have', async () => {
      const { succeeded, codes } = await fifty(async ({ nodes }, at) => {
        const saved = await nodes.save(nodeOf(`n${at}`), { isNews: true, accountBefore: '' })
        if (!saved) throw { code: 'full' }
      })
      expect([succeeded, codes, await count('nodes')]).toEqual([max, ['full'], max])
    })

    it('as many nodes that enrolled before join the account as it may have', async () => {
      for (let at = 0; at < 50; at++)
        await replicas[at % replicas.length]!.nodes.save(nodeOf(`n${at}`, ''), { isNews: true })
      const { succeeded } = await fifty(async ({ nodes }, at) => {
        const saved = await nodes.save(nodeOf(`n${at}`), { isNews: true, accountBefore: '' })
        if (!saved) throw { code: 'full' }
      })
      expect(succeeded).toBe(max)
      expect(await replicas[0]!.nodes.list(accountId)).toHaveLength(max)
      expect(await count('nodes')).toBe(50)
    })

    it('as many people join the account as it may have', async () => {
      const link = { purpose: 'invitation', accountId, role: 'member', email: '', madeBy: '' } as const
      const { links } = replicas[0]!
      const secrets = await Promise.all(Array.from({ length: 50 }, () => links.create(link, 3600)))
      const { succeeded, codes } = await fifty(({ links: own }, at) =>
        own.accept(secrets[at]!, `p${at}@example.com`, ''),
      )
      expect([succeeded, codes, await count('members')]).toEqual([max - 1, ['limit_exceeded'], max])
    })

    it('as many get a link to the account as may wait to be used', async () => {
      const link = { purpose: 'invitation', accountId, role: 'member', email: '', madeBy: '' } as const
      for (let at = 0; at < maxLinks - max; at++) await replicas[0]!.links.create(link, 3600)
      const { succeeded, codes } = await fifty(({ links }) => links.create(link, 3600))
      expect([succeeded, codes, await count('links')]).toEqual([max, ['limit_exceeded'], maxLinks])
    })

    it('as many begin a sign-in from one network as may wait for approval', async () => {
      const request = { clientId: 'c', scope: 'openid', jkt: '', address: '192.0.2.1', userAgent: '' }
      const { succeeded, codes } = await fifty(({ deviceRequests }) => deviceRequests.create(request))
      expect([succeeded, codes]).toEqual([30, ['temporarily_unavailable']])
      expect(await count('device_requests')).toBe(30)
    })

    it('one leaves its recovery codes, and no code of the others works', async () => {
      await fifty(({ recoveryCodes }) => recoveryCodes.create(personId))
      expect(await replicas[0]!.recoveryCodes.left(personId)).toBe(10)
    })

    it('as many browsers of a person are known as the limit allows', async () => {
      await fifty(({ knownBrowsers }, at) => knownBrowsers.remember(personId, `key${at}`))
      expect(await count('known_browsers')).toBe(20)
    })

    it('one leaves the link for the first owner', async () => {
      await replicas[0]!.store.run(sql`DELETE FROM links`)
      const secrets: (string | undefined)[] = []
      await fifty(async ({ links }) => secrets.push(await links.createSetup(3600)))
      const found = await Promise.all(secrets.map((each) => replicas[0]!.links.find(each!)))
      expect(found.filter((each) => each !== undefined)).toHaveLength(1)
      expect(await count('links')).toBe(1)
    })

    const nodeOf = (nodeId: string, account = accountId) => ({
      nodeId,
      name: nodeId,
      accountId: account,
      hmac: { nodeKey: '{}', cloudKey: '{}', secret: 'secret' },
      enrolledAt: clock.now(),
      lastSeenAt: clock.now(),
      blockedAt: null,
      version: '',
      services: [],
      removedAccount: '',
      accountEpoch: 0,
      accountAt: 0,
    })
  },
  migrations,
)
