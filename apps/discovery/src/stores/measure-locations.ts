import type { StoreMeasures } from '@selvedge/service-kit/metrics'
import type { LocationStore } from './location-store.ts'

/** Operations of the store of locations, as values of a label. */
export const locationOperations = [
  'location_put',
  'location_last',
  'location_account',
  'location_near',
  'location_forget',
  'location_remove',
] as const

/** Measures a store of locations. Without metrics it is returned as it is. */
export function measureLocations(
  store: LocationStore,
  measures: StoreMeasures<(typeof locationOperations)[number]> | undefined,
): LocationStore {
  if (!measures) return store
  const { time } = measures
  return {
    ...store,
    put: (locations) => time('location_put', () => store.put(locations)),
    last: (accountId, nodeIds) => time('location_last', () => store.last(accountId, nodeIds)),
    ofAccount: (accountId) => time('location_account', () => store.ofAccount(accountId)),
    near: (query) => time('location_near', () => store.near(query)),
    forget: (...node) => time('location_forget', () => store.forget(...node)),
    remove: (...node) => time('location_remove', () => store.remove(...node)),
  }
}
