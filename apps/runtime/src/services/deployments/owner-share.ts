/** Limits of work at the same time for the whole device, of which each owner has a share: no project uses up what all of them need. */
import { RpcError } from '@selvedge/protocol'
import { keyOf, type Owner } from './ownership.ts'

export interface ShareLimits {
  /** What is counted, in the plural. */
  readonly what: string
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

export function createOwnerShare({ what, onDevice, ofOwner }: ShareLimits): OwnerShare {
  /** One entry for each work under way. */
  const underWay = new Set<{ readonly owner: string }>()

  function expectRoom(owner: string): void {
    const own = [...underWay].filter((each) => each.owner === owner).length
    const others = underWay.size - own
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
      const entry = { owner: keyOf(owner, '') }
      expectRoom(entry.owner)
      underWay.add(entry)
      try {
        return await work()
      } finally {
        underWay.delete(entry)
      }
    },
  }
}
