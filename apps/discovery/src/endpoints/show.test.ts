/** What leaves the service of a location, by who reads it and what its node allows them. */
import { createFakeClock } from '@selvedge/service-kit/testing'
import { describe, expect, it } from 'vitest'
import type { KnownLocation } from '../stores/location-store.ts'
import { placeFor, showFix, showStranger, toldTo } from './show.ts'

const now = createFakeClock().now()
const location: KnownLocation = {
  nodeId: 'a'.repeat(56),
  nodeName: 'secret name',
  accountId: 'secret account',
  sharing: { account: 'exact', others: '1km' },
  longitude: 13.123456,
  latitude: 52.123456,
  speed: 7,
  bearing: 8,
  accuracy: 9,
  fixedAt: now - 90_500,
  receivedAt: now - 60_000,
  heardAt: now,
  source: 'api',
  suspect: false,
}
const sharing = (account: 'exact' | '1km' | 'city' | 'none', others = account): KnownLocation => ({
  ...location,
  sharing: { account, others },
})

describe('the place of a location', () => {
  it('is exact for an audience that may see it exactly', () => {
    expect(placeFor(location, 'account')).toEqual({
      place: expect.objectContaining({ longitude: 13.123456, latitude: 52.123456 }),
      precision: 'exact',
    })
  })

  it.each(['1km', 'city'] as const)(
    'is the middle of its cell for %s, the same for all places in it',
    (precision) => {
      const shown = placeFor(sharing(precision), 'account')!
      expect(shown.precision).toBe(precision)
      expect(shown.place).not.toMatchObject({ longitude: 13.123456 })
      const near = { ...sharing(precision), longitude: location.longitude + 1e-6 }
      expect(placeFor(near, 'account')).toEqual(shown)
    },
  )

  it('is the one for the audience', () => {
    expect(placeFor(location, 'others')?.precision).toBe('1km')
    expect(placeFor(sharing('none', 'exact'), 'account')).toBeUndefined()
    expect(placeFor(sharing('exact', 'none'), 'others')).toBeUndefined()
  })
})

describe('a location in numbers', () => {
  const told = (of: KnownLocation) => toldTo(of, placeFor(of, 'account')!)

  it('shows movement and accuracy if its precision is exact', () => {
    expect(told(location)).toEqual({
      longitude: 13.123456,
      latitude: 52.123456,
      speed: 7,
      bearing: 8,
      precision: 'exact',
      accuracy: 9,
    })
    const { accuracy: _, ...without } = location
    expect(told(without)).not.toHaveProperty('accuracy')
  })

  it('shows neither movement nor accuracy if it is rounded', () => {
    const rounded = told(sharing('1km'))
    expect(rounded).toMatchObject({ speed: 0, bearing: 0, precision: '1km' })
    expect(rounded).not.toHaveProperty('accuracy')
    expect(rounded.longitude).not.toBe(13.123456)
  })
})

describe('a fix', () => {
  it('is whole for the account that may see it exactly', () => {
    expect(showFix(location, 'account', now)).toEqual({
      longitude: 13.123456,
      latitude: 52.123456,
      precision: 'exact',
      speed: 7,
      bearing: 8,
      accuracy: 9,
      fixedAt: '2025-12-31T23:58:29.500Z',
      receivedAt: '2025-12-31T23:59:00.000Z',
      ageSeconds: 90,
      source: 'api',
      suspect: false,
    })
    expect(showFix({ ...location, suspect: true }, 'account', now)?.suspect).toBe(true)
  })

  it('has no accuracy without one of its receiver', () => {
    const { accuracy: _, ...without } = location
    expect(showFix(without, 'account', now)?.accuracy).toBeNull()
  })

  it('shows no movement to the account if it is rounded', () => {
    expect(showFix(sharing('city'), 'account', now)).toMatchObject({
      precision: 'city',
      speed: null,
      bearing: null,
      accuracy: null,
      source: 'api',
      receivedAt: '2025-12-31T23:59:00.000Z',
    })
  })

  it('has only the place and the minute for other accounts, also if it is exact', () => {
    expect(showFix(sharing('exact'), 'others', now)).toEqual({
      longitude: 13.123456,
      latitude: 52.123456,
      precision: 'exact',
      speed: null,
      bearing: null,
      accuracy: null,
      fixedAt: '2025-12-31T23:58:00.000Z',
      receivedAt: null,
      ageSeconds: 120,
      source: null,
      suspect: false,
    })
  })

  it('is of no negative age, however wrong the clock of the node is', () => {
    expect(showFix({ ...location, fixedAt: now + 5000 }, 'account', now)?.ageSeconds).toBe(0)
  })

  it('is null where nothing is known, or the audience may see nothing', () => {
    expect(showFix(undefined, 'account', now)).toBeNull()
    expect(showFix(sharing('none'), 'account', now)).toBeNull()
  })
})

it('a node of another account has no name, account, address, service or time of its report', () => {
  expect(showStranger(location, 12.5, now)).toEqual({
    nodeId: location.nodeId,
    name: null,
    accountId: null,
    state: 'online',
    addresses: [],
    services: [],
    heardAt: null,
    distance: 12.5,
    fix: showFix(location, 'others', now),
  })
  expect(JSON.stringify(showStranger(location, 1, now))).not.toMatch(/secret|13\.123456/)
})
