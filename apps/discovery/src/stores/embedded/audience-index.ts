/** Finds nodes nearby. Each audience has an index of the locations that it may see, with the precision that each node allows. */
import { snap } from '@selvedge/geo'
import { Grid } from '../../index/grid.ts'
import { type NearQuery, type Neighbour, scale, toInteger } from '../location-store.ts'
import type { Columns } from './columns.ts'

/** The nodes of the own account, or those of all other accounts. */
type Audience = 'account' | 'others'

/** Maximum nodes of an account of which all are compared. Of a larger account, those in the cells nearby are. */
const fewNodes = 2000

export function createAudienceIndex(nodes: Columns) {
  const grids = { account: new Grid(), others: new Grid() }

  function updateFor(audience: Audience, slot: number): void {
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

  return {
    /** Adopts the location and the sharing of a slot. */
    update(slot: number): void {
      updateFor('account', slot)
      updateFor('others', slot)
    },
    remove(slot: number): void {
      grids.account.delete(slot)
      grids.others.delete(slot)
    },
    /** Nodes of one audience within a radius in metres, with the locations that it can see. */
    search(query: NearQuery, audience: Audience, radius: number): Neighbour[] {
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
    },
  }
}
