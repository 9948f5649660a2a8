import { defaultSharing } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import type { KnownLocation } from '../stores/location-store.ts'
import { maxPlacesBytes, placesAtOnce, writePlaces } from './write-places.ts'

const locationsOf = (count: number): KnownLocation[] =>
  Array.from({ length: count }, (_, at) => ({
    ...{ nodeId: at.toString(16).padStart(56, '0'), nodeName: '', accountId: 'a', sharing: defaultSharing },
    ...{ longitude: 12.3456789, latitude: -45.6789123, speed: 1, bearing: 1, suspect: false },
    ...{ fixedAt: 1000, receivedAt: 1000, heardAt: 2999, source: 'api' as const },
  }))
const read = async (locations: readonly KnownLocation[], maxBytes?: number) =>
  JSON.parse((await writePlaces(locations, maxBytes)).toString()) as unknown[][]

it('the places of a large fleet are one list, with a metre and a second', async () => {
  const all = locationsOf(2 * placesAtOnce + 1)
  const places = await read(all)
  expect(places.map(([nodeId]) => nodeId)).toEqual(all.map(({ nodeId }) => nodeId))
  expect(new Set(places.map((each) => JSON.stringify(each.slice(1))))).toEqual(
    new Set(['[12.34568,-45.67891,2]']),
  )
  expect(await read([])).toEqual([])
})

it('nodes that do not share theirs are left out, also a part of nothing else', async () => {
  const all = locationsOf(2 * placesAtOnce).map((each, at) => ({
    ...each,
    sharing: {
      ...each.sharing,
      account: at === 2 * placesAtOnce - 1 ? ('exact' as const) : ('none' as const),
    },
  }))
  expect((await read(all)).map(([nodeId]) => nodeId)).toEqual([all.at(-1)!.nodeId])
})

it('has as many as have room', async () => {
  const all = locationsOf(placesAtOnce + 3)
  const { length } = await writePlaces(all.slice(0, 2))
  expect(await read(all, length)).toHaveLength(2)
  expect(await read(all, length - 2)).toHaveLength(1)
  expect(await read(all, 0)).toEqual([])
  const whole = await writePlaces(all)
  expect(await read(all, whole.length - 2)).toHaveLength(all.length - 1)
  expect(maxPlacesBytes / (length / 2)).toBeGreaterThan(180_000)
})

it('answers other requests between its parts', async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  await writePlaces(locationsOf(20 * placesAtOnce))
  clearInterval(timer)
  expect(turns).toBeGreaterThan(1)
})
