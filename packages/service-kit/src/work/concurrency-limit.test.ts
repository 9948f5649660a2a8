import { beforeEach, expect, it } from 'vitest'
import { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency-limit.ts'

let at = 0
let limit: ConcurrencyLimit
beforeEach(() => {
  at = 0
  limit = createConcurrencyLimit(() => at)
})

/** How many requests may be under way now. */
function room(): number {
  let count = 0
  while (count < 5000 && limit.hasRoom(count)) count++
  return count
}

/** A service that does one request after the other, asked by as many callers as may be under way. */
function serve(seconds: number, msEach: number, callers = Number.POSITIVE_INFINITY): void {
  for (const end = at + seconds * 1000; at < end; ) {
    const underWay = Math.min(callers, room())
    at += msEach
    limit.ended(underWay * msEach)
  }
}

it('leaves room for hundreds of requests that do not slow each other down', () => {
  for (let count = 0; count < 1000; count++) {
    at += 10
    limit.ended(2000)
    room()
  }
  expect(room()).toBe(1024)
})

it('shrinks while even the fastest requests wait in a queue', () => {
  serve(0.2, 1, 1)
  serve(8, 1)
  expect(room()).toBe(32)
})

it('stays small in an overload that does not end', () => {
  serve(0.2, 1, 1)
  serve(120, 1)
  expect(room()).toBeLessThan(60)
})

it('grows again when the queue is gone', () => {
  serve(0.2, 1, 1)
  serve(8, 1)
  for (let count = 0; count < 500; count++) {
    at += 10
    limit.ended(1)
    room()
  }
  expect(room()).toBeGreaterThan(500)
})

it('grows for requests that last, such as streams', () => {
  serve(0.2, 1, 1)
  serve(8, 1)
  for (let count = 0; count < 50; count++) {
    at += 101
    room()
  }
  expect(room()).toBe(1024)
})

it('never refuses one of 32 callers, however slow the service becomes', () => {
  limit.ended(1)
  for (const end = at + 60_000; at < end; ) {
    for (let underWay = 0; underWay < 32; underWay++) expect(limit.hasRoom(underWay)).toBe(true)
    at += 50
    limit.ended(500)
  }
})
