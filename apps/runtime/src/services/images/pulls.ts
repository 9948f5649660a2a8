/** Images that are under way from registries, for clients that show the progress. */
import { maxPulls, type TopicData } from '@selvedge/protocol'
import { isOwnedBy, type Owned, type Owner } from '../deployments/ownership.ts'
import type { DiskGuard } from './disk.ts'

type Pull = TopicData<'pulls'>[number]

export interface Pulls {
  /** Those of an owner, as many as an event shows. */
  of(owner: Owner): Pull[]
  /** Does a pull, whose bytes are claimed and watched with what the work gets. */
  follow<T>(
    owner: Owner,
    source: string,
    guard: Pick<DiskGuard, 'claim' | 'watch'>,
    work: (counted: Pick<DiskGuard, 'claim' | 'watch'>) => Promise<T>,
  ): Promise<T>
}

/** @param onChange called when one of them begins, continues or ends */
export function createPulls(onChange: () => void): Pulls {
  const underWay = new Set<Owned & { pull: Pull }>()
  return {
    of: (owner) =>
      [...underWay]
        .filter(({ accountId, clientId }) => isOwnedBy({ accountId, clientId }, owner))
        .slice(0, maxPulls)
        .map(({ pull }) => pull),
    async follow(owner, source, { claim, watch }, work) {
      const pull: Pull = { source, receivedBytes: 0, totalBytes: null }
      const entry = { accountId: owner.account_id, clientId: owner.client_id, pull }
      const change = (more: Partial<Pull>) => {
        entry.pull = { ...entry.pull, ...more }
        onChange()
      }
      async function* counted(content: AsyncIterable<Uint8Array>) {
        for await (const chunk of watch(content)) {
          change({ receivedBytes: entry.pull.receivedBytes + chunk.length })
          yield chunk
        }
      }
      underWay.add(entry)
      onChange()
      try {
        return await work({
          claim: async (bytes) => {
            change({ totalBytes: bytes })
            await claim(bytes)
          },
          watch: counted,
        })
      } finally {
        underWay.delete(entry)
        onChange()
      }
    },
  }
}
