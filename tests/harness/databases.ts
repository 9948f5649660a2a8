/** Empty databases for suites that run on every store. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PostgresServer, startPostgres } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe } from 'vitest'
import { has, needs } from './installed.ts'

export type StoreName = 'sqlite' | 'postgres'

/**
 * Describes a suite once for each store; on PostgreSQL only if it is installed. To be called at the top of a test file. Does nothing
 * in a mutation run, which repeats the tests of a rule thousands of times: there such a suite runs in memory.
 *
 * @param title with `%s` for the name of the store
 * @param suite its tests; `makeDatabase` resolves with the URL of an empty database, a new one each time
 */
export function describeOnStores(
  title: string,
  suite: (makeDatabase: () => Promise<string>, name: StoreName) => void,
): void {
  if (process.env.SELVEDGE_MUTATION_TESTS !== undefined) return
  let server: PostgresServer | undefined
  let folder: string
  let made = 0
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'selvedge-databases-'))
    if (has('postgres')) server = await startPostgres()
  })
  afterAll(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true })
  })
  const makeSqlite = async () => `sqlite:${join(folder, `${++made}.db`)}`
  describe(title.replace('%s', 'sqlite'), () => suite(makeSqlite, 'sqlite'))
  const onPostgres = () => suite(() => server!.createDatabase(), 'postgres')
  describe(title.replace('%s', 'postgres'), needs('postgres'), onPostgres)
}
