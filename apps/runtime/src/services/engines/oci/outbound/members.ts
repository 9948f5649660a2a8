/**
 * Members of apps that run: where each is, and which others may connect to it. Rules stand in the network namespace of the one that connects;
 * the one that it connects to gets its packets from the device, as those of the gateway.
 */
import type { MemberNames } from '../../../apps/member-names.ts'
import { closingMember, openingMember } from './rules.ts'

/** An instance of a member with its rules set. */
interface JoinedInstance {
  /** Of its container, which the next revision has as well. */
  readonly key: string
  /** IPv4. */
  readonly address: string
  readonly names: MemberNames
  /** Applies a script of nftables in its network namespace. */
  apply(script: string): Promise<void>
}

/** Where a name of the own app leads; undefined for any other name, null while no instance runs. Resolves when the address is open. */
export type AskMember = (name: string) => Promise<string | null | undefined>

export interface Members {
  /**
   * Opens the addresses of those that it may connect to, and its own for those that may connect to it. Resolves when that was tried: what failed
   * is opened by the next question for the name.
   *
   * @param name of the instance
   */
  add(name: string, instance: JoinedInstance): Promise<void>
  /** @param name of an instance that was added */
  askOf(name: string): AskMember
  /** Closes the address of an instance that has exited for all others, before another container may get it. Never rejects. */
  remove(name: string): Promise<void>
}

interface Joined extends JoinedInstance {
  /** Addresses that are open. */
  readonly opened: Set<string>
  /** One script after the other. */
  last: Promise<unknown>
}

/** Runs a change of the rules of an instance when those before it are done. */
function inOrder(joined: Joined, change: () => Promise<void>): Promise<void> {
  const mine = joined.last.then(change)
  joined.last = mine.catch(() => undefined)
  return mine
}

const open = (joined: Joined, address: string): Promise<void> =>
  inOrder(joined, async () => {
    if (joined.opened.has(address)) return
    await joined.apply(openingMember(address))
    joined.opened.add(address)
  })

const close = (joined: Joined, address: string): Promise<void> =>
  inOrder(joined, async () => {
    if (!joined.opened.has(address)) return
    await joined.apply(closingMember(address))
    joined.opened.delete(address)
  })

export function createMembers(): Members {
  /** By the names of the instances, oldest first. */
  const all = new Map<string, Joined>()

  /** The newest instance of a container: it is about to serve, or serves. */
  const newestOf = (key: string): Joined | undefined =>
    [...all.values()].findLast((joined) => joined.key === key)

  return {
    async add(name, instance) {
      const added: Joined = { ...instance, opened: new Set(), last: Promise.resolve() }
      all.set(name, added)
      const others = [...all.values()].filter((other) => other.key !== added.key)
      await Promise.allSettled(
        others.flatMap((other) => [
          ...(added.names.reaches(other.key) ? [open(added, other.address)] : []),
          ...(other.names.reaches(added.key) ? [open(other, added.address)] : []),
        ]),
      )
    },
    askOf: (name) => async (asked) => {
      const asking = all.get(name)
      const key = asking?.names.find(asked)
      if (!asking || key === undefined) return undefined
      // Its own name leads to itself, also while the next revision starts.
      const found = key === asking.key ? asking : newestOf(key)
      if (!found) return null
      if (found !== asking) await open(asking, found.address)
      return found.address
    },
    async remove(name) {
      const gone = all.get(name)
      if (!gone) return
      all.delete(name)
      await Promise.allSettled([...all.values()].map((other) => close(other, gone.address)))
    },
  }
}
