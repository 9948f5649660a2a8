/*
 * Preloaded into a program (NODE_OPTIONS=--require): shifts its clock by the milliseconds in the file SELVEDGE_TEST_CLOCK, which
 * may change while it runs. The monotonic clock stays as it is, as when somebody sets the clock of a machine.
 */
const { readFileSync } = require('node:fs')

const file = process.env.SELVEDGE_TEST_CLOCK
const realNow = Date.now
const RealDate = Date
let shift = 0
let readAt = Number.NEGATIVE_INFINITY

function shiftNow() {
  const at = performance.now()
  if (at - readAt > 10) {
    readAt = at
    shift = Number(readFileSync(file, 'utf8')) || 0
  }
  return shift
}

const now = () => realNow() + shiftNow()
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
