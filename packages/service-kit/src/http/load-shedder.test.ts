import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLoadShedder, type LoadShedder } from './load-shedder.ts'

let at = 0
let shedder: LoadShedder
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  at = 0
  shedder = createLoadShedder({}, () => at)
})
afterEach(() => void vi.useRealTimers())

const socket = () => new Socket()

/** A turn of the event loop in which each request takes some time. @returns how many of them were refused */
function turn(requests: number, msEach: number): number {
  let refused = 0
  for (let count = 0; count < requests; count++) {
    if (shedder.isBusy(socket())) refused++
    else at += msEach
  }
  vi.advanceTimersByTime(1)
  return refused
}

it('serves everything while the event loop keeps up', () => {
  for (let count = 0; count < 1000; count++) {
    at += 1
    expect(turn(3, 0.1)).toBe(0)
  }
})

it('serves a burst, however many requests it has', () => {
  expect(turn(200, 1)).toBe(0)
  at += 1
  expect(turn(10, 0.1)).toBe(0)
})

it('serves a burst that takes longer than a second, but not without end', () => {
  expect(turn(2000, 1)).toBeGreaterThan(900)
})

it('refuses what comes late in a turn once there is a standing queue, and serves what comes early', () => {
  for (let count = 0; count < 10; count++) turn(100, 1)
  expect(turn(100, 1)).toBeGreaterThan(60)
  expect(turn(100, 1)).toBeLessThan(100)
})

it('serves the first requests of each turn, however late it is', () => {
  for (let count = 0; count < 10; count++) turn(100, 1)
  expect(turn(32, 100)).toBe(0)
})

it('serves bursts again after a second without a queue', () => {
  for (let count = 0; count < 10; count++) turn(100, 1)
  for (let count = 0; count < 1100; count++) {
    at += 1
    turn(1, 0)
  }
  expect(turn(100, 1)).toBe(0)
})

it('counts a single turn that was long as no queue', () => {
  turn(1, 2000)
  at += 1
  expect(turn(100, 0.01)).toBe(0)
})

it('stops its timer when no requests come', () => {
  turn(1, 0)
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(10)
  expect(vi.getTimerCount()).toBe(0)
})

it('leaves connections unread for a second when refusals become many, and refuses what they sent meanwhile', () => {
  at += 1
  turn(1, 0)
  const sockets = Array.from({ length: 20 }, socket)
  for (const each of sockets) shedder.wasRefused(each)
  const paused = sockets.filter((each) => each.isPaused())
  expect(paused.length).toBe(19)
  at += 1001
  vi.advanceTimersByTime(1)
  expect(paused.filter((each) => each.isPaused())).toEqual([])
  expect(paused.map((each) => shedder.isBusy(each))).toEqual(paused.map(() => true))
  // The next one was sent after this refusal.
  expect(shedder.isBusy(paused[0]!)).toBe(false)
})
