/*
 * Preloaded into a program (NODE_OPTIONS=--require): its clock follows the file SELVEDGE_TEST_CLOCK, which may change while it runs. The
 * file has two numbers of milliseconds. The first shifts the wall clock alone, as when somebody sets the clock of a machine. The second is
 * time that passes: all clocks move, and timers fire that are due by then, in their order. Each thread writes what it has applied into
 * a file of its own in the folder `<file>.seen`.
 */
const { readFileSync, rmSync, writeFileSync } = require('node:fs')
const { syncBuiltinESMExports } = require('node:module')
const { join } = require('node:path')
const timers = require('node:timers')
const timerPromises = require('node:timers/promises')
const { threadId } = require('node:worker_threads')

const file = process.env.SELVEDGE_TEST_CLOCK
const seen = join(`${file}.seen`, `${process.pid}-${threadId}`)
const pollMs = 5
const RealDate = Date
const realNow = Date.now
const realMonotonic = performance.now.bind(performance)
const realSetTimeout = setTimeout
const realSetInterval = setInterval
const realBigint = process.hrtime.bigint
const readClock = () => realMonotonic() + passed

let text = ''
let shift = 0
let passed = 0
let readAt = Number.NEGATIVE_INFINITY
/** Timers that may not have fired yet, with the time of `readClock` at which they are due. */
const pending = new Map()
let pruneAt = 1000

function follow() {
  const at = realMonotonic()
  if (at - readAt < pollMs) return
  readAt = at
  let next
  try {
    next = readFileSync(file, 'utf8')
  } catch {
    // The test is over.
    return
  }
  if (next === text) return
  text = next
  const [nextShift = 0, nextPassed = 0] = next.split(' ').map(Number)
  shift = nextShift
  const moved = nextPassed - passed
  passed = nextPassed
  if (moved > 0) hasten()
  acknowledge()
}

function acknowledge() {
  try {
    writeFileSync(seen, text)
  } catch {
    // The test is over.
  }
}

/** Timers that are due by now fire in the next turns, by the time at which they are due; others wait for what is left. */
function hasten() {
  prune()
  const now = readClock()
  for (const [timer, due] of [...pending].sort(([, one], [, two]) => one - two)) {
    timer._idleTimeout = Math.max(1, Math.ceil(due - now))
    realRefresh.call(timer)
  }
}

function prune() {
  for (const [timer] of pending) if (timer._destroyed || timer._onTimeout === null) pending.delete(timer)
  pruneAt = Math.max(1000, 2 * pending.size)
}

const realRefresh = Object.getPrototypeOf(realSetTimeout(() => undefined, 0)).refresh

function track(timer, milliseconds, again) {
  const wait = milliseconds >= 1 && milliseconds <= 2_147_483_647 ? milliseconds : 1
  const mark = () => pending.set(timer, readClock() + wait)
  mark()
  timer.refresh = () => {
    timer._idleTimeout = wait
    mark()
    return realRefresh.call(timer)
  }
  if (pending.size > pruneAt) prune()
  again(mark)
  return timer
}

function trackedTimeout(callback, milliseconds, ...args) {
  if (typeof callback !== 'function') return realSetTimeout(callback, milliseconds, ...args)
  const timer = realSetTimeout(
    (...given) => {
      pending.delete(timer)
      callback.apply(timer, given)
    },
    milliseconds,
    ...args,
  )
  return track(timer, Number(milliseconds), () => undefined)
}

function trackedInterval(callback, milliseconds, ...args) {
  if (typeof callback !== 'function') return realSetInterval(callback, milliseconds, ...args)
  let mark
  const timer = realSetInterval(
    (...given) => {
      mark()
      callback.apply(timer, given)
    },
    milliseconds,
    ...args,
  )
  return track(timer, Number(milliseconds), (given) => {
    mark = given
  })
}

function trackedSleep(milliseconds, value, { signal, ref = true } = {}) {
  return new Promise((resolve, reject) => {
    const fail = () => {
      clearTimeout(timer)
      reject(
        Object.assign(new Error('The operation was aborted', { cause: signal.reason }), {
          name: 'AbortError',
          code: 'ABORT_ERR',
        }),
      )
    }
    const timer = trackedTimeout(() => {
      signal?.removeEventListener('abort', fail)
      resolve(value)
    }, milliseconds)
    if (!ref) timer.unref()
    if (signal?.aborted) return fail()
    signal?.addEventListener('abort', fail, { once: true })
  })
}

const { promisify } = require('node:util')
Object.defineProperty(trackedTimeout, promisify.custom, { get: () => trackedSleep })
Object.assign(globalThis, { setTimeout: trackedTimeout, setInterval: trackedInterval })
Object.assign(timers, { setTimeout: trackedTimeout, setInterval: trackedInterval })
timerPromises.setTimeout = trackedSleep
syncBuiltinESMExports()

const now = () => {
  follow()
  return realNow() + shift + passed
}
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
performance.now = () => {
  follow()
  return readClock()
}
process.hrtime.bigint = () => realBigint() + BigInt(Math.round(passed * 1e6))

follow()
acknowledge()
process.on('exit', () => rmSync(seen, { force: true }))
realSetInterval(follow, pollMs).unref()
