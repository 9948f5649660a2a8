/** Limits of work at the same time for the whole device, of which each owner has a share: no project uses up what all of them need. */
import { RpcError } from '@selvedge/protocol'
import { createWorkCounts } from '@selvedge/service-kit/work'
import { keyOf, type Owner } from './ownership.ts'

export interface ShareLimits {
  /** What is counted, in the plural. */
  readonly what: string
  /** Its name in the metrics; left out: it is not shown there. */
  readonly kind?: Parameters<typeof createWorkCounts>[0]
  /** Maximum at the same time, of all owners. */
  readonly onDevice: number
  /** Maximum of one owner. */
  readonly ofOwner: number
}

export interface OwnerShare {
  /**
   * Does work of an owner. It counts until it is complete, also when it fails.
   *
   * @throws RpcError `busy` when the owner has `ofOwner` under way, or more than half of what others leave free
   */
  run<T>(owner: Owner, work: () => Promise<T>): Promise<T>
}

export function createOwnerShare({ what, kind, onDevice, ofOwner }: ShareLimits): OwnerShare {
  const works = createWorkCounts(kind)

  function expectRoom(owner: string): void {
    const own = works.of(owner)
    const others = works.underWay - own
    // Half of what is free, rounded up: the next project gets something as well.
    const share = Math.min(ofOwner, Math.ceil((onDevice - others) / 2))
    if (own < share) return
    throw new RpcError(
      'busy',
      `this project has ${own} ${what} under way; at present its limit is ${share} (the limit of all projects is ${onDevice})`,
      { hint: 'Send it again when one of them is complete.' },
    )
  }

  return {
    async run(owner, work) {
      const key = keyOf(owner, '')
      expectRoom(key)
      return works.during(key, work)
    },
  }
}
