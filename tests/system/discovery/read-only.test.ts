/** A database of the discovery service that only reads: the service continues, and names it. */
import { join } from 'node:path'
import {
  type PostgresServer,
  type RedisCluster,
  startPostgres,
  startRedisCluster,
} from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { type Stack, startStack, temporaryFolder } from '../../harness/processes.ts'
import { setReadOnly } from '../../harness/read-only.ts'
import { onlyReads, seenStore, writes } from '../../harness/seen-store.ts'

describe('a discovery service on a database that only reads', needs('redis-server', 'postgres'), () => {
  let postgres: PostgresServer
  let cluster: RedisCluster
  let database: string
  let sockets: Awaited<ReturnType<typeof temporaryFolder>>
  let stack: Stack | undefined
  beforeAll(async () => {
    postgres = await startPostgres()
    cluster = await startRedisCluster()
    database = await postgres.createDatabase()
    sockets = await temporaryFolder()
    stack = await startStack({
      discovery: [`--cluster=${cluster.urls[0]}`, `--metrics.listen=${join(sockets.path, 'discovery')}`],
      envOf: { discovery: { SELVEDGE_DISCOVERY_STORE: database } },
    })
  })
  afterAll(async () => {
    await stack?.stop()
    await cluster?.stop()
    await postgres?.stop()
    await sockets?.remove()
  })

  it('stays ready, and names it in /readyz and in its metrics until it writes again', async () => {
    const seen = () => seenStore(stack!.discovery.url, join(sockets.path, 'discovery'))
    expect(await seen()).toEqual(writes)
    await setReadOnly(database, true)
    await postgres.endConnections(database)
    await expect.poll(seen).toEqual(onlyReads)
    await setReadOnly(database, false)
    await postgres.endConnections(database)
    await expect.poll(seen).toEqual(writes)
  })
})
