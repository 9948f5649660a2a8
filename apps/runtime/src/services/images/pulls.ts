/** Images that are under way from registries, for clients that show the progress. */
import { RpcError, type TopicData } from '@selvedge/protocol'
import { createOwnerShare } from '../deployments/owner-share.ts'
import { isOwnedBy, type Owned, type Owner } from '../deployments/ownership.ts'
import type { DiskGuard } from './disk.ts'
import type { Download } from './downloads.ts'
import { lengthOf, pullMs, shares } from './limits.ts'
import { createProgress, type Progress } from './progress.ts'
import type { PullOptions } from './registry/registry.ts'

type Pull = TopicData<'pulls'>[number]

/** What a pull has to do with the bytes that it gets. */
export interface Counted
  extends Required<Pick<PullOptions, 'announce' | 'onFound' | 'onWait' | 'pullMs' | 'watch'>> {
  /** What it had to do so far. */
  readonly download: () => Download
}

export interface Pulls {
  /** Those of an owner. */
  of(owner: Owner): Pull[]
  /**
   * Does a pull. Its bytes are checked and watched with what the work gets.
   *
   * @param pullMs milliseconds that it has, if an earlier run of the runtime began it
   * @throws RpcError `busy` beyond the limits, `registry_unavailable` if it needs longer than it may
   */
  follow<T>(
    owner: Owner,
    source: string,
    guard: DiskGuard,
    work: (counted: Counted) => Promise<T>,
    pullMs?: number,
  ): Promise<T>
}

/**
 * @param onChange called when one of them begins, continues or ends
 * @param now monotonic milliseconds
 * @param timeoutMs milliseconds for each of them
 */
export function createPulls(
  onChange: () => void,
  now: () => number = () => performance.now(),
  timeoutMs: number = pullMs,
): Pulls {
  const share = createOwnerShare(shares.pulls)
  const underWay = new Set<Owned & { readonly progress: Progress }>()

  const of: Pulls['of'] = (owner) =>
    [...underWay].filter((each) => isOwnedBy(each, owner)).map(({ progress }) => progress.shown())

  async function follow<T>(
    owner: Owner,
    source: string,
    { expectRoom, watch }: DiskGuard,
    work: (counted: Counted) => Promise<T>,
    ofPullMs = timeoutMs,
  ): Promise<T> {
    const progress = createProgress(source, now)
    const entry = { accountId: owner.account_id, clientId: owner.client_id, progress }
    const start = now()
    const end = start + ofPullMs
    const download = () => ({ interruptions: progress.shown().interruptions ?? 0, ms: now() - start })
    async function* counted(content: AsyncIterable<Uint8Array>, length: number) {
      for await (const chunk of watch(content, length)) {
        if (now() > end)
          throw new RpcError('registry_unavailable', `${source} did not arrive within ${lengthOf(ofPullMs)}`)
        progress.received(chunk.length)
        onChange()
        yield chunk
      }
    }
    const announce = async (bytes: number) => {
      progress.announce(bytes)
      onChange()
      await expectRoom(bytes)
    }
    const onFound = (bytes: number) => {
      progress.found(bytes)
      onChange()
    }
    const onWait = (ms: number, cause: unknown) => {
      const over = progress.waits(ms, cause)
      onChange()
      return () => {
        over()
        onChange()
      }
    }
    underWay.add(entry)
    onChange()
    try {
      return await work({ announce, onFound, onWait, pullMs: ofPullMs, watch: counted, download })
    } finally {
      underWay.delete(entry)
      onChange()
    }
  }

  return {
    of,
    follow: (owner, ...pull) => share.run(owner, () => follow(owner, ...pull)),
  }
}
