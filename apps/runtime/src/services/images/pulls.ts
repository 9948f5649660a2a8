/** Images that are under way from registries, for clients that show the progress. */
import { maxPulls, RpcError, type TopicData } from '@selvedge/protocol'
import { isOwnedBy, type Owned, type Owner } from '../deployments/ownership.ts'
import type { DiskGuard } from './disk.ts'

type Pull = TopicData<'pulls'>[number]

export interface Pulls {
  /** Those of an owner. */
  of(owner: Owner): Pull[]
  /** Does a pull. Its bytes are claimed and watched with what the work gets. @throws RpcError `busy` beyond the limits */
  follow<T>(
    owner: Owner,
    source: string,
    guard: Pick<DiskGuard, 'claim' | 'watch'>,
    work: (counted: Pick<DiskGuard, 'claim' | 'watch'>) => Promise<T>,
  ): Promise<T>
}

/** Pulls at the same time, of all owners: each one occupies a connection, however slow its registry is. */
const maxUnderWay = 64

/** @param onChange called when one of them begins, continues or ends */
export function createPulls(onChange: () => void): Pulls {
  const underWay = new Set<Owned & { pull: Pull }>()

  const of: Pulls['of'] = (owner) =>
    [...underWay].filter((each) => isOwnedBy(each, owner)).map(({ pull }) => pull)

  function expectRoom(owner: Owner): void {
    const isFull = underWay.size >= maxUnderWay
    if (!isFull && of(owner).length < maxPulls) return
    const limit = isFull ? `${maxUnderWay} images` : `${maxPulls} images of this project`
    throw new RpcError('busy', `${limit} are downloaded at present, which is the limit`)
  }

  return {
    of,
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
      expectRoom(owner)
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
