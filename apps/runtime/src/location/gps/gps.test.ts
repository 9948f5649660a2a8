import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { destination, distanceBetween, predict } from '@selvedge/geo'
import { openDocument } from '@selvedge/service-kit/store'
import { createDiskFaults, createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { initialState, type StateStore, stateFormat } from '../../device/state.ts'
import { createGps, type Gps } from './gps.ts'
import { limitsFor } from './scarce.ts'

let folder: string
let state: StateStore
let gps: Gps
let limits: { maxError: number; maxIntervalMs: number }
let sent: number[]
const clock = createFakeClock()
const start = clock.now()

beforeEach(async () => {
  clock.set(start)
  folder = mkdtempSync(join(tmpdir(), 'gps-'))
  state = await openDocument(join(folder, 'state'), {
    ...stateFormat,
    initial: { ...initialState, accountId: 'a' },
  })
  sent = []
  limits = { maxError: 50, maxIntervalMs: 120_000 }
  gps = createGps({
    onFix: () => undefined,
    state,
    clock,
    publisher: {
      publish: async () => void sent.push((clock.now() - start) / 1000) === undefined,
      restate: async () => true,
      resume: () => undefined,
      stop: async () => undefined,
    },
    order: [],
    limits: () => limits,
  })
})
afterEach(async () => {
  await state.close()
  rmSync(folder, { recursive: true })
})

/** Drives for some seconds, with a reading a second. */
async function drive(
  seconds: number,
  from: { longitude: number; latitude: number },
  speed: number,
  bearingAt: (second: number) => number,
  told = speed,
) {
  let place = from
  for (let second = 0; second < seconds; second++) {
    const bearing = bearingAt(second)
    await gps.observe({ ...place, speed: told, bearing, mode: 3, accuracy: 5 }, 'nmea')
    place = destination(place, bearing, speed)
    clock.advance(1000)
  }
  return place
}

describe('a receiver', () => {
  it('that does not move, or moves in a straight line, is reported every two minutes', async () => {
    await drive(601, { longitude: 10, latitude: 50 }, 30, () => 90)
    expect(sent).toEqual([0, 120, 240, 360, 480, 600])
    sent = []
    clock.advance(1_000_000)
    const from = (clock.now() - start) / 1000
    await drive(300, { longitude: 10, latitude: 50 }, 0, () => 0)
    expect(sent.map((each) => each - from)).toEqual([0, 120, 240])
  })

  it('that turns is reported when dead reckoning is off by more than 50 m, and it is never off by much more', async () => {
    const end = await drive(60, { longitude: 10, latitude: 50 }, 20, (second) => second * 3)
    expect(sent.length).toBeGreaterThan(4)
    expect(sent.length).toBeLessThan(20)
    const { fix } = state.value
    const last = {
      longitude: Number(fix!.signal.longitude),
      latitude: Number(fix!.signal.latitude),
      speed: 20,
      bearing: Number(fix!.signal.bearing),
      fixedAt: fix!.fixedAt,
    }
    const expected = predict(last, clock.now())
    expect(distanceBetween(expected.longitude, expected.latitude, end.longitude, end.latitude)).toBeLessThan(
      75,
    )
  })

  it('that reports a wrong speed is reported all the same', async () => {
    await drive(30, { longitude: 10, latitude: 50 }, 20, () => 0, 0)
    expect(sent).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 24, 27])
  })

  it('is reported a fifth as often, and with four times the error, while the link is scarce', async () => {
    let isScarce = true
    const usual = limits
    const drives = async () => {
      sent = []
      clock.advance(10_000_000)
      const from = (clock.now() - start) / 1000
      limits = limitsFor({ isScarce: () => isScarce }, usual)
      await drive(1201, { longitude: 10, latitude: 50 }, 30, () => 90)
      const straight = sent.map((each) => each - from)
      sent = []
      clock.advance(10_000_000)
      const later = (clock.now() - start) / 1000
      await drive(34, { longitude: 10, latitude: 50 }, 19, () => 0, 0)
      return [straight, sent.map((each) => each - later)]
    }
    expect(await drives()).toEqual([
      [0, 600, 1200],
      [0, 11, 22, 33],
    ])
    isScarce = false
    const [straight, wrong] = await drives()
    expect([straight!.length, wrong!.length]).toEqual([11, 12])
  })

  it('is shown as it is now, and what is not worth sending is not written', async () => {
    await drive(10, { longitude: 10, latitude: 50 }, 10, () => 0)
    const kept = state.value.fix!.fixedAt
    expect(kept).toBe(start)
    expect(gps.last()).toMatchObject({
      source: 'nmea',
      accuracy: 5,
      fixedAt: new Date(start + 9000).toISOString(),
      published: false,
    })
  })

  it('and a client: the later fix counts, and a fix of a client is always sent', async () => {
    await drive(2, { longitude: 10, latitude: 50 }, 0, () => 0)
    await gps.update({ longitude: '11', latitude: '50', speed: '0', bearing: '0' })
    expect(gps.last()).toMatchObject({ source: 'api', longitude: '11' })
    await gps.update({ longitude: '11', latitude: '50', speed: '0', bearing: '0' })
    expect(sent).toEqual([0, 2, 2])
    await gps.observe({ longitude: 11, latitude: 50, speed: 0, bearing: 0, mode: 2 }, 'gpsd')
    expect(gps.last()).toMatchObject({ source: 'gpsd', accuracy: null })
  })

  it('is reported at once to a new account, which gets nothing from before', async () => {
    await drive(5, { longitude: 10, latitude: 50 }, 0, () => 0)
    await state.update((value) => ({ ...value, accountId: '', fix: null }))
    await state.update((value) => ({ ...value, accountId: 'b' }))
    expect(() => gps.last()).toThrow('no location was recorded yet')
    await drive(5, { longitude: 10, latitude: 50 }, 0, () => 0)
    expect(sent).toEqual([0, 5])
    expect(gps.last()).toMatchObject({ source: 'nmea' })
  })

  it('of a device without an account is neither shown nor sent', async () => {
    await state.update((value) => ({ ...value, accountId: '' }))
    await drive(2, { longitude: 10, latitude: 50 }, 0, () => 0)
    expect(sent).toEqual([])
    expect(() => gps.last()).toThrow('no location was recorded yet')
  })
})

describe('a full disk', () => {
  it('refuses a fix, and the next one of the receiver is sent once there is room', async () => {
    const disk = await createDiskFaults()
    const reading = { longitude: 10, latitude: 50, speed: 0, bearing: 0, mode: 3 as const, accuracy: 5 }
    try {
      disk.fail('write')
      await expect(gps.observe(reading, 'nmea')).rejects.toThrow('no space left')
      await expect(gps.update({ ...reading, longitude: '11', latitude: '51' })).rejects.toThrow(
        'no space left',
      )
    } finally {
      disk.repair()
    }
    expect({ sent, fix: state.value.fix }).toEqual({ sent: [], fix: null })
    clock.advance(1000)
    await gps.observe(reading, 'nmea')
    expect(sent).toEqual([1])
  })

  it('leaves the reading of the receiver the last word', async () => {
    const disk = await createDiskFaults()
    const reading = { longitude: 10, latitude: 50, speed: 0, bearing: 0, mode: 3 as const, accuracy: 5 }
    await gps.observe(reading, 'nmea')
    clock.advance(1000)
    await gps.observe({ ...reading, accuracy: 7 }, 'nmea')
    disk.fail('write')
    await expect(gps.update({ ...reading, longitude: 11 })).rejects.toThrow('no space left')
    disk.repair()
    expect(gps.last()).toMatchObject({ accuracy: 7 })
  })
})

it('a fix of a former account is not stored for the next one', async () => {
  const change = state.update((value) => ({ ...value, accountId: 'b' }))
  const late = gps.update({ longitude: 1, latitude: 2, speed: 0, bearing: 0 })
  await expect(late).rejects.toMatchObject({ reason: 'wrong_account' })
  await change
  expect(state.value.fix).toBeNull()
})

it('fixes that come at the same moment are each later than the one before', async () => {
  const at: number[] = []
  await Promise.all(
    [1, 2, 3].map((longitude) => gps.update({ longitude, latitude: 0, speed: 0, bearing: 0 })),
  )
  at.push(state.value.fix!.fixedAt)
  await gps.update({ longitude: 4, latitude: 0, speed: 0, bearing: 0 })
  at.push(state.value.fix!.fixedAt)
  expect(at.map((each) => each - start)).toEqual([2, 3])
})
