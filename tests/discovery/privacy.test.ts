/** An attacker who wants the location of another account's node, with everything that an own node can do. */
import type { OAuthFailure } from '@selvedge/client'
import { destination, distanceBetween, snap } from '@selvedge/geo'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice, type Device, fixAt } from '../harness/device.ts'
import { createDeveloper } from '../harness/flow.ts'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
let victim: Device
let newSpy: () => Promise<Device>
/** Not the middle of its cell, and not near it. */
const home = { longitude: 13.4049, latitude: 52.5203 }
const questions = 300
/** Questions of one spy: one alone would be slowed down. */
const ofOneSpy = 20
/** Spies at the same time: fewer than a service always answers, however slow the machine is (`load-shedder.ts`). */
const atOnce = 16

beforeAll(async () => {
  stack = await startStack()
  const urls = { identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url }
  victim = await createDevice(urls, await createDeveloper(stack.state), 'victim')
  const attacker = await createDeveloper(stack.state)
  newSpy = () => createDevice(urls, attacker, 'spy')
})
afterAll(() => stack.stop())

/**
 * The place that fits distances best: a grid around the middle of all places, whatever their order, that closes in on the smallest
 * sum of squares.
 */
function trilaterate(measured: readonly { longitude: number; latitude: number; distance: number }[]) {
  const mean = (of: 'longitude' | 'latitude') =>
    measured.reduce((sum, each) => sum + each[of], 0) / measured.length
  let best = { longitude: mean('longitude'), latitude: mean('latitude') }
  const errorAt = (longitude: number, latitude: number) =>
    measured.reduce(
      (sum, each) =>
        sum + (distanceBetween(longitude, latitude, each.longitude, each.latitude) - each.distance) ** 2,
      0,
    )
  for (let step = 0.05; step > 1e-6; step /= 2) {
    let least = Number.POSITIVE_INFINITY
    const middle = best
    for (let x = -2; x <= 2; x++) {
      for (let y = -2; y <= 2; y++) {
        const [longitude, latitude] = [middle.longitude + x * step, middle.latitude + y * step]
        const error = errorAt(longitude, latitude)
        if (error < least) [least, best] = [error, { longitude, latitude }]
      }
    }
  }
  return best
}

describe('trilateration', () => {
  it.each(['1km', 'city'] as const)(
    'with hundreds of questions ends in the middle of the cell (%s), wherever in it the node is',
    async (precision) => {
      await victim.begin({ sharing: { account: 'exact', others: precision } })
      await victim.report(fixAt(home.longitude, home.latitude))
      const told = snap(precision, home)!
      const measured: { longitude: number; latitude: number; distance: number }[] = []
      const askFrom = async (first: number) => {
        const spy = await newSpy()
        await spy.begin()
        for (let number = first; number < first + ofOneSpy; number++) {
          const place = destination(home, (number * 137.5) % 360, 400 + (number / questions) * 30_000)
          // Moved by hand, as often as it likes: the service takes what a device says of itself.
          await spy.report(fixAt(place.longitude, place.latitude))
          const found = (await spy.near({ radius: 100_000, limit: 100 })).find(
            (node) => node.nodeId === victim.nodeId,
          )
          if (found) measured.push({ ...place, distance: found.distance! })
        }
      }
      // Each spy that is done is followed by another one, until no questions are left.
      const starts = Array.from({ length: questions / ofOneSpy }, (_, index) => index * ofOneSpy).values()
      const askWhatIsLeft = async () => {
        for (const first of starts) await askFrom(first)
      }
      await Promise.all(Array.from({ length: atOnce }, askWhatIsLeft))
      expect(measured.length).toBeGreaterThan(questions / 2)
      const guess = trilaterate(measured)
      // All of it leads only to what everyone may see.
      expect(distanceBetween(guess.longitude, guess.latitude, told.longitude, told.latitude)).toBeLessThan(10)
      const off = distanceBetween(guess.longitude, guess.latitude, home.longitude, home.latitude)
      expect(off).toBeGreaterThan(
        distanceBetween(home.longitude, home.latitude, told.longitude, told.latitude) - 10,
      )
      // Anywhere else in the cell the answers are the same, so nothing can tell.
      const one = await newSpy()
      await one.report(fixAt(home.longitude, home.latitude + 0.1))
      const ask = async () =>
        (await one.near({ radius: 100_000, limit: 100 })).find((node) => node.nodeId === victim.nodeId)
      const before = await ask()
      await victim.report(fixAt(home.longitude + 0.0005, home.latitude + 0.0005))
      const { fix, distance } = (await ask())!
      expect([fix!.longitude, fix!.latitude, distance]).toEqual([
        before!.fix!.longitude,
        before!.fix!.latitude,
        before!.distance,
      ])
    },
  )

  it('a node that jumps from place to place to ask is slowed down', async () => {
    const spy = await newSpy()
    const outcomes: string[] = []
    for (let ask = 0; ask < 30; ask++) {
      await spy.report(fixAt(ask, 10))
      outcomes.push(
        await spy.near().then(
          () => 'ok',
          (cause: OAuthFailure) => `${cause.status} ${cause.reason}`,
        ),
      )
    }
    expect(outcomes.at(-1)).toBe('429 temporarily_unavailable')
  })
})

describe('what was shared and is not any more', () => {
  it('cannot be seen from the next moment on', async () => {
    const spy = await newSpy()
    await spy.report(fixAt(home.longitude, home.latitude))
    await victim.begin({ sharing: { account: 'exact', others: 'exact' } })
    const fix = fixAt(home.longitude, home.latitude)
    await victim.report(fix)
    const sees = async () =>
      (await spy.near({ radius: 100_000 })).some((node) => node.nodeId === victim.nodeId)
    expect(await sees()).toBe(true)
    await victim.begin({ sharing: { account: 'exact', others: 'none' } })
    await victim.report(fix)
    expect(await sees()).toBe(false)
  })
})
