/** Changes of projects by two owners at once, on every store, at two replicas. */
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { openRevocations } from '../revocation/revocations.ts'
import { noApp } from './project-apps.ts'
import { createProjects, type Projects } from './projects.ts'

describeOnStores(
  '%s',
  (makeDatabase) => {
    const clock = createFakeClock()
    const stops: (() => Promise<void>)[] = []
    let one: Projects
    let other: Projects
    let clientId: string
    let store: SqlStore
    let meanwhile: (() => Promise<void>) | undefined

    async function startReplica(url: string) {
      const store = await openSql(url, migrations)
      const changes = await openChanges({
        store,
        clock,
        system: clock,
        log: createMemoryLog(),
        maxAgeMs: 1e12,
      })
      stops.push(async () => {
        await changes.stop()
        await store.close()
      })
      const revocations = await openRevocations(store, clock, changes, 3600, noFolding)
      // Between what a change reads and what it writes.
      const keys = { prepare: async () => meanwhile?.() }
      return {
        store,
        projects: createProjects({ store, clock, changes, revocations, keys, maxProjects: 1000 }),
      }
    }

    beforeAll(async () => {
      const url = await makeDatabase()
      const first = await startReplica(url)
      await first.store.run(sql`INSERT INTO accounts VALUES ('a', 'a@example.com', 0)`)
      ;({ store } = first)
      one = first.projects
      other = first.store.isShared ? (await startReplica(url)).projects : one
    })
    beforeEach(async () => {
      meanwhile = undefined
      const project = await one.create({ name: 'p', accountId: 'a', scopes: ['edge:mcm'], resources: [] })
      clientId = project.clientId
      await one.update(clientId, { appUsers: 'anyone', redirectUris: ['https://app.example/a'] })
      // Both have it in memory.
      await Promise.all([one.find(clientId), other.find(clientId)])
    })
    afterAll(async () => {
      for (const stop of stops) await stop()
    })

    it.each([
      [{ active: false }, { name: 'renamed' }],
      [{ dpop: 'required' }, { scopes: ['openid'] }],
      [{ accessLifetime: 60 }, { developerLifetime: 600, resources: ['urn:x'] }],
      [{ appUsers: 'account' }, { redirectUris: ['https://app.example/b'] }],
      [{ origins: ['https://app.example'] }, { postLogoutRedirectUris: ['https://app.example/bye'] }],
      [{ idTokenSignedResponseAlg: 'RS256' }, { origins: [] }],
      [{ active: false }, { appUsers: 'account' }],
    ] as const)('%j and %j at once are both true afterwards', async (first, second) => {
      await Promise.all([one.update(clientId, first), other.update(clientId, second)])
      const [found] = (await one.list('a')).filter((each) => each.clientId === clientId)
      expect(found).toMatchObject({ ...first, ...second })
    })

    it('an algorithm alone makes no app of a project', async () => {
      const { clientId: plain } = await one.create({ name: 'q', accountId: 'a', scopes: [], resources: [] })
      const changed = await one.update(plain, { idTokenSignedResponseAlg: 'RS256' })
      expect(changed).toMatchObject({ ...noApp, idTokenSignedResponseAlg: 'RS256' })
      expect(await one.update(plain, { idTokenSignedResponseAlg: 'ES256' })).toMatchObject(noApp)
    })

    it('a project that is removed meanwhile is not found, and leaves nothing', async () => {
      meanwhile = () => other.remove(clientId)
      const change = {
        offline: { maxDays: 400, scopes: ['openid'] },
        origins: ['https://app.example'],
      } as const
      await expect(one.update(clientId, change)).rejects.toMatchObject({ reason: 'not_found' })
      for (const table of ['project_apps', 'project_origins', 'project_offline'])
        expect(
          await store.run({ sql: `SELECT * FROM ${table} WHERE client_id = ?`, values: [clientId] }),
        ).toEqual([])
    })

    it('a change that states nothing changes nothing', async () => {
      const [before] = (await one.list('a')).filter((each) => each.clientId === clientId)
      expect(await one.update(clientId, {})).toEqual(before)
    })
  },
  migrations,
)
