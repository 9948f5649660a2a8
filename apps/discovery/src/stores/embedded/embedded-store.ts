/** One machine: everything in memory, and a durable copy in SQLite. */
import { isJump } from '@selvedge/geo'
import type { Log } from '@selvedge/service-kit/log'
import type { SqlStore } from '@selvedge/service-kit/store'
import {
  byDistance,
  growingRadii,
  type Location,
  type LocationStore,
  type Neighbour,
  type PutResult,
  type ReportedLocation,
} from '../location-store.ts'
import { createAudienceIndex } from './audience-index.ts'
import { Columns } from './columns.ts'
import { createDurableCopy } from './durable-copy.ts'
import { createWatchers } from './watchers.ts'

/** @param database a SQLite database with the tables of the service; closed by the caller */
export async function openEmbeddedStore(database: SqlStore, log: Log): Promise<LocationStore> {
  const nodes = new Columns()
  const index = createAudienceIndex(nodes)
  const watchers = createWatchers()
  const copy = createDurableCopy(database, (slot) => nodes.read(slot), log)

  function write(location: Location, suspect: boolean, keepsFix: boolean): number {
    const slot = nodes.write(location, suspect, keepsFix)
    index.update(slot)
    return slot
  }

  function putOne(location: ReportedLocation): PutResult {
    const slot = nodes.slotOf(location.nodeId)
    if (slot !== undefined && location.term < nodes.term[slot]!) return 'left'
    const fixedAt = slot === undefined ? -1 : nodes.fixedAt[slot]!
    if (location.fixedAt < fixedAt) return fixedAt
    const keepsFix = location.fixedAt === fixedAt
    if (keepsFix && location.heardAt <= nodes.heardAt[slot!]!) return fixedAt
    const suspect = !keepsFix && fixedAt >= 0 && isJump(nodes.momentOf(slot!), location)
    const written = write(location, suspect, keepsFix)
    nodes.term[written] = location.term
    copy.changed(written)
    if (!keepsFix && watchers.has(location.accountId))
      watchers.notify(location.accountId, nodes.read(written))
    return fixedAt
  }

  for (const each of await copy.load()) write(each, each.suspect, false)
  for (const { nodeId, term } of await copy.loadTerms()) nodes.term[nodes.slotFor(nodeId)] = term

  return {
    put: async (locations) => locations.map(putOne),
    async last(accountId, nodeIds) {
      const own = nodes.accountNumber(accountId)
      return nodeIds.map((nodeId) => {
        const slot = nodes.slotOf(nodeId)
        return slot === undefined || own === undefined || nodes.account[slot] !== own
          ? undefined
          : nodes.read(slot)
      })
    },
    ofAccount: async (accountId) => [...nodes.ofAccount(accountId)].map((slot) => nodes.read(slot)),
    async near(query) {
      let found: Neighbour[] = []
      for (const radius of growingRadii(query.radius)) {
        found = [...index.search(query, 'account', radius), ...index.search(query, 'others', radius)]
        if (found.length >= query.limit) break
      }
      return found.sort(byDistance).slice(0, query.limit)
    },
    async forget(accountId, nodeId, term) {
      const slot = nodes.slotFor(nodeId)
      nodes.term[slot] = Math.max(nodes.term[slot]!, term)
      if (nodes.account[slot] === nodes.accountNumber(accountId)) {
        nodes.leave(slot)
        index.remove(slot)
      }
      // Also if it is out of memory already: the removal from the disk may have failed before.
      await copy.remove(nodeId, accountId)
    },
    async remove(accountId, nodeId) {
      const slot = nodes.slotOf(nodeId)
      if (slot !== undefined) {
        index.remove(slot)
        nodes.remove(slot)
      }
      await copy.remove(nodeId, accountId)
    },
    watch: watchers.add,
    waiting: copy.waiting,
    close: () => copy.close(),
  }
}
