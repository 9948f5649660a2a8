import type { Clock } from '@selvedge/service-kit/clock'
import { ConfigError } from '@selvedge/service-kit/config'
import type { Log } from '@selvedge/service-kit/log'
import type { SqlStore } from '@selvedge/service-kit/store'
import { openClusterStore } from './cluster/cluster-store.ts'
import { openEmbeddedStore } from './embedded/embedded-store.ts'
import type { LocationStore } from './location-store.ts'

/**
 * Opens the engine of the configuration.
 *
 * @param parts.silenceMs milliseconds without a report after which a node is not listed any more; `forgetAfter`: after which it
 * is forgotten
 * @throws ConfigError | StoreError
 */
export function openStore(
  { cluster }: { readonly cluster: readonly string[] },
  database: SqlStore,
  parts: {
    readonly clock: Clock
    readonly log: Log
    readonly silenceMs: number
    readonly forgetAfter: number
  },
): Promise<LocationStore> {
  if (cluster.length > 0) return openClusterStore({ urls: cluster, ...parts })
  if (database.isShared) {
    return Promise.reject(
      new ConfigError(
        'with several replicas on one PostgreSQL ("store") the locations need a place that they share, too: set "cluster" to the nodes of a Valkey or Redis cluster',
      ),
    )
  }
  return openEmbeddedStore(database, parts.log)
}
