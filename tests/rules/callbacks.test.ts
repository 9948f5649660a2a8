/** No callback of a daemon can end its process: each is entered through `safely`, or cannot throw. */
import { describe, expect, it } from 'vitest'
import { parseSource, readSources } from './sources.ts'
import { findUnguardedCallbacks } from './unguarded-callbacks.ts'

const daemons = [
  'apps/runtime/src',
  'apps/identity/src',
  'apps/discovery/src',
  'apps/stack/src',
  'packages/service-kit/src',
]
/** Not part of a daemon: fakes of tests, a command of its own, and the program that runs inside the sandbox. */
const outside = /\/testing\/|\/store-(?:copy|backup)\.ts$|\/engines\/function\/platform\//
/** The wrapper itself, the alarms, which report what it catches, and a thread whose end its store expects. */
const mechanism = /\/safely\/safely\.ts$|\/lifecycle\/alarms\.ts$|\/store\/platform\/sqlite-worker\.ts$/

it.each(daemons)('in %s every callback is guarded, or cannot throw', (folder) => {
  const own = readSources(folder).filter(({ path }) => ![outside, mechanism].some((rule) => rule.test(path)))
  expect(own.length).toBeGreaterThan(1)
  expect(own.flatMap(findUnguardedCallbacks)).toEqual([])
})

const findingsIn = (code: string) => findUnguardedCallbacks(parseSource('example.ts', code))

describe('the rule', () => {
  it.each([
    [`socket.on('data', (chunk) => parse(chunk))`],
    [`socket?.once('message', onMessage)`],
    [`setTimeout(() => { throw new Error('x') }, 1)`],
    [`setInterval(async () => { await work() }, 1)`],
    [`queueMicrotask(flush)`],
    [`process.nextTick(() => flush())`],
    [`worker.on('message', ({ rows }) => resolve(rows))`],
    [`child.on('message', (message) => { ready = message.ready.url })`],
    [`void work()`],
    [`work().then(() => undefined)`],
    [`work().then((value) => use(value)).catch((cause) => log.error(cause.message.text()))`],
    [`work().finally(done)`],
    [`createServer((socket) => socket.write(greet()))`],
    [`const later = () => risky(); setTimeout(later, 1)`],
    [`target.addEventListener('abort', () => stop())`],
    [`class A { onData = () => parse(); start() { socket.on('data', this.onData) } }`],
    [`socket.on('data', maybe ? safely('a.b', read) : read)`],
  ])('finds %s', (code) => {
    expect(findingsIn(code)).toHaveLength(1)
  })

  it.each([
    [`socket.on('data', safely('a.b', (chunk) => parse(chunk)))`],
    [`const onData = safely('a.b', parse); socket.on('data', onData)`],
    [`class A { #onData = safely('a.b', parse); start() { socket.on('data', this.#onData) } }`],
    [`socket.on('error', () => undefined)`],
    [`socket.on('error', () => socket.destroy())`],
    [`new Promise((resolve) => setTimeout(resolve, 1))`],
    [
      `new Promise((resolve, reject) => { socket.once('connect', () => resolve(true)); socket.once('error', reject) })`,
    ],
    [`child.on('exit', (code) => { isGone = true; clearTimeout(timer); log.debug('gone', { code }) })`],
    [`const stop = () => { isStopped = true }; process.on('SIGTERM', stop)`],
    [`work().catch((cause) => log.error('failed', { cause }))`],
    [`work().then(() => { isDone = true }, () => undefined)`],
    [`inBackground('a.b', work())`],
    [`await work().then((value) => use(value))`],
    [`const use = () => void items.push(1)`],
  ])('accepts %s', (code) => {
    expect(findingsIn(code)).toEqual([])
  })
})
