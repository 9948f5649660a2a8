/** New databases for suites that run on every store. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSql } from '@selvedge/service-kit/sql'
import type { Migrations } from '@selvedge/service-kit/store'
import { type PostgresServer, startPostgres } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe } from 'vitest'
import { has, needs } from './installed.ts'

export type StoreName = 'sqlite' | 'postgres'

/**
 * Describes a suite once for each store; on PostgreSQL only if it is installed, and not in a mutation run, which repeats the tests of
 * a rule thousands of times. To be called at the top of a test file.
 *
 * @param title with `%s` for the name of the store
 * @param suite its tests; `makeDatabase` resolves with the URL of a new database each time
 * @param schema what is in each of them; left out: they are empty
 */
export function describeOnStores(
  title: string,
  suite: (makeDatabase: () => Promise<string>, name: StoreName) => void,
  schema: Migrations = [],
): void {
  const isMutationRun = process.env.SELVEDGE_MUTATION_TESTS !== undefined
  let server: PostgresServer | undefined
  let folder: string
  let made = 0
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'selvedge-databases-'))
    if (!isMutationRun && has('postgres')) server = await startPostgres()
  })
  afterAll(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true })
  })
  const pathOf = (number: number) => join(folder, `${number}.db`)
  const copySqlite = async (template?: string) => {
    if (template !== undefined) copyFileSync(template.slice('sqlite:'.length), pathOf(made + 1))
    return `sqlite:${pathOf(++made)}`
  }
  const copyPostgres = (template?: string) => server!.createDatabase(template)
  describe(title.replace('%s', 'sqlite'), () => suite(copiesOf(copySqlite, schema), 'sqlite'))
  if (isMutationRun) return
  const onPostgres = () => suite(copiesOf(copyPostgres, schema), 'postgres')
  describe(title.replace('%s', 'postgres'), needs('postgres'), onPostgres)
}

/** Makes databases with a schema as copies of the first one: a copy needs less time than the steps of the schema. */
function copiesOf(copy: (template?: string) => Promise<string>, schema: Migrations): () => Promise<string> {
  let template: Promise<string> | undefined
  const makeTemplate = async () => {
    const url = await copy()
    const store = await openSql(url, schema)
    await store.close()
    return url
  }
  return async () => {
    if (schema.length === 0) return copy()
    template ??= makeTemplate()
    return copy(await template)
  }
}
