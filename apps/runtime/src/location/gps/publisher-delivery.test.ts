import { describe, expect, it } from 'vitest'
import {
  afterFailure,
  afterRefusal,
  afterSuccess,
  type Delivery,
  isOverdue,
  isRefused,
  isServed,
  mayWait,
  nothingDelivered,
} from './publisher-delivery.ts'

const delivered: Delivery = { ...nothingDelivered, acceptedUpTo: 100, stated: 3, known: 2, answeredAt: 1000 }

describe('a success', () => {
  it('with a new fix and a statement makes both known', () => {
    expect(afterSuccess(delivered, { fixedAt: 200, statement: 3 }, 5000)).toEqual({
      ...delivered,
      acceptedUpTo: 200,
      known: 3,
      answeredAt: 5000,
    })
  })

  it('without a new fix, or with an older statement, keeps what was known', () => {
    expect(afterSuccess(delivered, { fixedAt: undefined, statement: 1 }, 5000)).toEqual({
      ...delivered,
      answeredAt: 5000,
    })
  })

  it('lets callers wait again', () => {
    const failed = afterFailure(delivered, 0, 501)
    expect(mayWait(afterSuccess(failed, { fixedAt: 1, statement: 0 }, 502), 502)).toBe(true)
  })
})

describe('a failure', () => {
  it('of up to 500 ms lets the next caller wait', () => {
    expect(afterFailure(delivered, 0, 500)).toEqual(delivered)
  })

  it('that was slower lets no caller wait for a second', () => {
    const failed = afterFailure(delivered, 1000, 1501)
    expect([1501, 2500, 2501].map((now) => mayWait(failed, now))).toEqual([false, false, true])
  })
})

describe('a refused fix', () => {
  const refused = afterRefusal(delivered, 200, 1000)

  it('is sent again after a minute', () => {
    expect([1000, 60_999, 61_000].map((now) => isRefused(refused, 200, now))).toEqual([true, true, false])
  })

  it('does not delay other fixes', () => {
    expect([isRefused(refused, 199, 1000), isRefused(refused, 201, 1000)]).toEqual([false, false])
    expect(isRefused(nothingDelivered, 200, 1000)).toBe(false)
  })
})

describe('a keep-alive', () => {
  it('is due when the interval that the service requests has passed', () => {
    expect([30_999, 31_000].map((now) => isOverdue(delivered, 30_000, now))).toEqual([false, true])
  })

  it.each([0, -1, 4999])(
    'is due every 5 seconds at most, even if the service requests %i ms',
    (reportWithinMs) => {
      expect([5999, 6000].map((now) => isOverdue(delivered, reportWithinMs, now))).toEqual([false, true])
    },
  )

  it('is due at the start', () => {
    expect(isOverdue(nothingDelivered, 1e9, 0)).toBe(true)
  })
})

describe('a caller', () => {
  it.each([
    [{ fixedAt: 100, statement: 0 }, true],
    [{ fixedAt: 101, statement: 0 }, false],
    [{ fixedAt: Number.NEGATIVE_INFINITY, statement: 2 }, true],
    [{ fixedAt: Number.NEGATIVE_INFINITY, statement: 3 }, false],
    [{ fixedAt: 101, statement: 2 }, false],
  ])('that waits for %j is served: %s', (waited, expected) => {
    expect(isServed(delivered, waited)).toBe(expected)
  })
})
