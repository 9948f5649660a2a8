/** One machine: everything in memory, and a durable copy in SQLite. */
import { isJump, snap } from '@selvedge/geo'
import type { Log } from '@selvedge/service-kit/log'
import type { SqlStore } from '@selvedge/service-kit/store'
import { Grid } from '../../index/grid.ts'
import {
  byDistance,
  growingRadii,
  type KnownLocation,
  type Location,
  type LocationStore,
  type NearQuery,
  type Neighbour,
  type PutResult,
  type ReportedLocation,
  scale,
  toInteger,
} from '../location-store.ts'
import { Columns } from './columns.ts'
import { createDurableCopy } from './durable-copy.ts'

/** An account with no more nodes than this is looked through; of a larger one those in the cells nearby. */
const fewNodes = 2000

/** @param database a SQLite database with the tables of the service; closed by the caller */
export async function openEmbeddedStore(database: SqlStore, log: Log): Promise<LocationStore> {
  const nodes = new Columns()
  /** Where the own account sees each node, and where all others see those that are shared. */
  const grids = { account: new Grid(), others: new Grid() }
  const watchers = new Map<string, Set<(location: KnownLocation) => void>>()
  const copy = createDurableCopy(database, (slot) => nodes.read(slot), log)

  function index(slot: number): void {
    for (const audience of ['account', 'others'] as const) {
      const precision = nodes.sharedWith(slot, audience)
      const longitude = nodes.longitude[slot]!
      const latitude = nodes.latitude[slot]!
      if (precision === 'exact') grids[audience].set(slot, longitude, latitude)
      else if (precision === 'none') grids[audience].delete(slot)
      else {
        const place = snap(precision, {
          longitude: longitude / scale.degrees,
          latitude: latitude / scale.degrees,
        })!
        grids[audience].set(slot, toInteger.degrees(place.longitude), toInteger.degrees(place.latitude))
      }
    }
  }

  function take(location: Location, suspect: boolean, keepsFix: boolean): number {
    const slot = nodes.write(location, suspect, keepsFix)
    index(slot)
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
    const taken = take(location, suspect, keepsFix)
    nodes.term[taken] = location.term
    copy.changed(taken)
    const own = watchers.get(location.accountId)
    if (own && !keepsFix) {
      const known = nodes.read(taken)
      for (const tell of own) tell(known)
    }
    return fixedAt
  }

  /** Nodes of one audience within a radius, with the locations that it can see. */
  function look(query: NearQuery, audience: 'account' | 'others', radius: number): Neighbour[] {
    const own = nodes.accountNumber(query.accountId)
    const isOwn = audience === 'account'
    const isFew = isOwn && nodes.sizeOf(query.accountId) <= fewNodes
    const few = isFew ? [...nodes.ofAccount(query.accountId)] : undefined
    return grids[audience]
      .within(
        query,
        radius,
        (slot) =>
          (nodes.account[slot] === own) === isOwn &&
          nodes.heardAt[slot]! >= query.heardSince &&
          nodes.nodeIds[slot] !== query.except,
        few,
      )
      .map(({ slot, distance }) => ({ location: nodes.read(slot), distance }))
  }

  function hide(slot: number): void {
    grids.account.delete(slot)
    grids.others.delete(slot)
  }

  for (const each of await copy.load()) take(each, each.suspect, false)
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
        found = [...look(query, 'account', radius), ...look(query, 'others', radius)]
        if (found.length >= query.limit) break
      }
      return found.sort(byDistance).slice(0, query.limit)
    },
    async forget(accountId, nodeId, term) {
      const slot = nodes.slotFor(nodeId)
      nodes.term[slot] = Math.max(nodes.term[slot]!, term)
      if (nodes.account[slot] === nodes.accountNumber(accountId)) {
        nodes.leave(slot)
        hide(slot)
      }
      // Also if it is out of memory already: the removal from the disk may have failed before.
      await copy.remove(nodeId, accountId)
    },
    async remove(accountId, nodeId) {
      const slot = nodes.slotOf(nodeId)
      if (slot !== undefined) {
        hide(slot)
        nodes.remove(slot)
      }
      await copy.remove(nodeId, accountId)
    },
    watch(accountId, listener) {
      const own = watchers.get(accountId) ?? new Set()
      watchers.set(accountId, own.add(listener))
      return () => {
        own.delete(listener)
        if (own.size === 0 && watchers.get(accountId) === own) watchers.delete(accountId)
      }
    },
    close: () => copy.close(),
  }
}
