import { describe, expect, it } from 'vitest'
import {
  afterDeviceFailure,
  afterEnd,
  afterRequest,
  afterStart,
  type CrashState,
  goodRunMs,
  noCrashes,
  secondsToWait,
} from './crash-policy.ts'

/** What a container does that ends after each of these runs (milliseconds), each started as soon as that is allowed. */
function pausesAfter(runs: readonly number[]): (number | undefined)[] {
  let state: CrashState = noCrashes
  let now = 1_000_000
  return runs.map((ranForMs) => {
    now += ranForMs
    const decision = afterEnd(state, ranForMs, now)
    state = decision.state
    now = Math.max(now, state.notBefore)
    return decision.pauseSeconds
  })
}

describe('a container that ends by itself', () => {
  it('starts again at once, then after pauses that double, and is given up at the sixth end', () => {
    expect(pausesAfter([0, 0, 0, 0, 0, 0])).toEqual([0, 1, 2, 4, 8, undefined])
  })

  it('is not given up if one run lasts longer than a minute: the counting starts again', () => {
    const long = goodRunMs + 1
    expect(pausesAfter([0, 0, 0, 0, 0, long, 0, 0, 0, 0, 0])).toEqual([
      ...[0, 1, 2, 4, 8],
      ...[0, 1, 2, 4, 8],
      undefined,
    ])
  })

  it('counts a run of exactly a minute as a short one', () => {
    expect(pausesAfter([0, goodRunMs])).toEqual([0, 1])
  })

  it('may run longer than a minute each time for ever', () => {
    expect(pausesAfter(Array(20).fill(goodRunMs + 1))).toEqual(Array(20).fill(0))
  })

  it('starts from the beginning when it is requested again', () => {
    const { state } = afterEnd({ ends: 5, deviceFailures: 0, notBefore: 9000 }, 0, 5000)
    expect(state.ends).toBe(6)
    expect(afterRequest(state)).toEqual(noCrashes)
  })

  it('is not forgiven by a start alone', () => {
    const { state } = afterEnd({ ends: 3, deviceFailures: 0, notBefore: 0 }, 0, 5000)
    expect(afterStart(state).ends).toBe(4)
    expect(afterStart(state).notBefore).toBe(9000)
  })
})

describe('a start that fails for a reason of the device', () => {
  const pausesOf = (failures: number): number[] => {
    let state: CrashState = noCrashes
    return Array.from({ length: failures }, () => {
      const decision = afterDeviceFailure(state, 0)
      state = decision.state
      return decision.pauseSeconds
    })
  }

  it('is tried again after pauses that double up to a minute, for ever', () => {
    expect(pausesOf(9)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
    expect(pausesOf(2000).at(-1)).toBe(60)
  })

  it('does not count towards giving the container up', () => {
    const { state } = afterDeviceFailure({ ends: 5, deviceFailures: 7, notBefore: 0 }, 0)
    expect(state.ends).toBe(5)
  })

  it('has short pauses again after a start', () => {
    const { state } = afterDeviceFailure({ ends: 2, deviceFailures: 7, notBefore: 0 }, 0)
    expect(afterStart(state)).toEqual({ ...state, deviceFailures: 0 })
    expect(afterDeviceFailure(afterStart(state), 0).pauseSeconds).toBe(1)
  })
})

it('the wait until the next start is in whole seconds, rounded up', () => {
  const state = afterDeviceFailure({ ends: 0, deviceFailures: 1, notBefore: 0 }, 10_000).state
  const waits = [10_000, 10_001, 11_000, 11_999, 12_000, 13_000].map((now) => secondsToWait(state, now))
  expect(waits).toEqual([2, 2, 1, 1, 0, 0])
})
