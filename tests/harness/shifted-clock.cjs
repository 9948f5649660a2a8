/*
 * Preloaded into a program (NODE_OPTIONS=--require). The file SELVEDGE_TEST_CLOCK has two numbers of milliseconds and may change while
 * the program runs: how far its clock is ahead of the real one, and how much time passed that did not really pass. The second one counts for
 * the monotonic clock and for the timers of JavaScript; those of Node's own HTTP server and sockets stay in real time.
 */
const { readFileSync } = require('node:fs')
const { createServer } = require('node:net')
const { performance } = require('node:perf_hooks')
const timers = require('node:timers')
const timersPromises = require('node:timers/promises')
const { promisify } = require('node:util')
const { isMainThread } = require('node:worker_threads')

const file = process.env.SELVEDGE_TEST_CLOCK
const RealDate = Date
const real = {
  now: Date.now,
  monotonic: performance.now.bind(performance),
  nanoseconds: process.hrtime.bigint,
  setTimeout,
  setInterval,
}
/** Read at each use: what the test has written counts at once, without a message that could come late. */
const read = () => readFileSync(file, 'utf8').split(' ').map(Number)

const now = () => real.now() + read()[0]
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
performance.now = () => real.monotonic() + read()[1]
process.hrtime.bigint = () => real.nanoseconds() + BigInt(read()[1] * 1_000_000)

/** Timers that may still fire, and some that will not, with the delay that each of them began with. */
const live = new Map()
let pruneAt = 1000
function follow(timer) {
  live.set(timer, timer._idleTimeout)
  if (live.size < pruneAt) return timer
  for (const each of live.keys()) if (each._destroyed) live.delete(each)
  pruneAt = 1000 + 2 * live.size
  return timer
}
const followed = {
  setTimeout: (...args) => follow(real.setTimeout(...args)),
  setInterval: (...args) => follow(real.setInterval(...args)),
}
for (const holder of [globalThis, timers]) Object.assign(holder, followed)
timersPromises.setTimeout = (milliseconds, value, { ref = true, signal } = {}) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = followed.setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve(value)
    }, milliseconds)
    if (!ref) timer.unref()
    signal?.addEventListener('abort', onAbort, { once: true })
  })
Object.defineProperty(followed.setTimeout, promisify.custom, { value: timersPromises.setTimeout })
const Timeout = real.setTimeout(() => undefined, 0).constructor
const refresh = Timeout.prototype.refresh
Timeout.prototype.refresh = function () {
  // One that was moved has a shorter delay.
  this._idleTimeout = live.get(this) ?? this._idleTimeout
  return refresh.call(follow(this))
}

/** Lets each timer fire that much earlier, in their order. @returns when those have fired that are due */
function moveTimers(milliseconds) {
  // The time of the event loop, which timers count in.
  const loopNow = real.setTimeout(() => undefined, 0)._idleStart
  const leftOf = (timer) => timer._idleStart + timer._idleTimeout - loopNow
  const waiting = [...live.keys()].filter((each) => !each._destroyed && each._idleTimeout > 0)
  for (const timer of waiting.sort((one, two) => leftOf(one) - leftOf(two))) {
    timer._idleTimeout = Math.max(1, Math.ceil(leftOf(timer) - milliseconds))
    refresh.call(timer)
  }
  return new Promise((resolve) => real.setTimeout(resolve, 1))
}

if (isMainThread) {
  let moved = 0
  // Listens before it reads how much has passed: what passes later reaches it.
  createServer(async (socket) => {
    socket.on('error', () => undefined)
    const passed = read()[1]
    const more = passed - moved
    moved = passed
    await moveTimers(more)
    socket.end()
  })
    .listen(`${file}.${process.pid}`)
    .unref()
  moved = read()[1]
}
