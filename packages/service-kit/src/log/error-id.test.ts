/** Failures that repeat: one line a minute for each cause, and every ID that a caller got is in the log. */
import { beforeEach, expect, it } from 'vitest'
import { createMemoryLog } from '../testing/index.ts'
import { errorIdOf, isFailure } from './error-id.ts'

let log: ReturnType<typeof createMemoryLog>
let time: number
/** Milliseconds: a process does not fail at its start only. */
const start = 1_000_000
beforeEach(() => {
  log = createMemoryLog()
  time = start
})

const failure = (message: string) =>
  Object.assign(new Error('database: failed', { cause: { code: message } }), { name: 'StoreError' })
const fail = (cause: unknown, fields: object = {}) =>
  errorIdOf(log, 'a request failed', { ...fields, cause }, 'error', () => time)
const lines = () => log.lines.map((line) => JSON.parse(line) as { errorId: string; notLogged?: number })

it('one cause has one line a minute, with the ID that all its callers got', () => {
  const ids = Array.from({ length: 1100 }, (_, at) =>
    fail(failure('25006'), { requestId: String(at), path: `/${at}` }),
  )
  expect(lines()).toMatchObject([{ errorId: ids[0] }])
  expect(new Set(ids).size).toBe(1)
  time = start + 59_999
  expect(fail(failure('25006'))).toBe(ids[0])
  time = start + 60_000
  const later = fail(failure('25006'))
  expect(later).not.toBe(ids[0])
  expect(lines()[1]).toMatchObject({ errorId: later, notLogged: 1100 })
})

it('another cause, another message and another callback have lines of their own', () => {
  const ids = [
    fail(failure('25006')),
    fail(failure('53100')),
    fail(new TypeError('x is undefined')),
    fail(failure('25006'), { where: 'sweep' }),
    fail(failure('25006'), { task: 'sessions' }),
    fail(failure('25006'), { issuer: 'https://a.example' }),
    errorIdOf(log, 'a method failed', { cause: failure('25006') }, 'error', () => time),
  ]
  expect(lines().map(({ errorId }) => errorId)).toEqual(ids)
})

it('many causes have a bounded number of lines, and each ID is in the log', () => {
  const ids = Array.from({ length: 5000 }, (_, at) => fail(failure(`cause ${at}`)))
  // One each for the first 100, and one for the others.
  expect(lines()).toHaveLength(101)
  const shown = new Set(lines().map(({ errorId }) => errorId))
  expect(ids.every((id) => shown.has(id))).toBe(true)
  expect(fail(failure('cause 0'))).toBe(ids[0])
  time = start + 60_000
  fail(failure('another'))
  expect(lines()).toHaveLength(102)
})

it('a new cause has a line of its own again a minute after many others were repeated', () => {
  for (let at = 0; at < 500; at++) fail(failure(`cause ${at % 250}`))
  time = start + 60_000
  const [first, second] = [fail(failure('new')), fail(failure('newer'))]
  expect(
    lines()
      .slice(-2)
      .map(({ errorId }) => errorId),
  ).toEqual([first, second])
  expect(fail(failure('new'))).toBe(first)
})

it('what was not logged is counted until the next line, also if other causes are new in between', () => {
  fail(failure('25006'))
  fail(failure('25006'))
  time = start + 60_000
  fail(failure('53100'))
  fail(failure('25006'))
  time = start + 120_000
  fail(failure('25006'))
  expect(lines().map(({ notLogged }) => notLogged)).toEqual([undefined, undefined, 1, undefined])
})

/** An error as two requests could have it: the same, apart from what the test states. */
const errorAt = (stack: string, message = 'x', cause?: unknown) =>
  Object.assign(new Error(message, cause === undefined ? {} : { cause }), { stack })
/** An error with as many others as its causes. */
const nested = (causes: number, innermost: string): Error =>
  causes === 0 ? errorAt('Error: x', innermost) : errorAt('Error: x', 'x', nested(causes - 1, innermost))
const unreadable = {
  get name(): string {
    throw new Error('unreadable')
  },
}

it.each<[string, unknown, unknown]>([
  ['thrown elsewhere', errorAt('Error: x\n    at a'), errorAt('Error: x\n    at b')],
  ['with another text', 'a', 'b'],
  ['without a value', unreadable, null],
  ['that cannot be read', '', unreadable],
  ['with a cause', errorAt('Error: x'), errorAt('Error: x', 'x', 'undefined')],
  ['with another third cause', nested(3, 'a'), nested(3, 'b')],
  ['with another text in the first 200 characters', `${'x'.repeat(199)}a`, `${'x'.repeat(199)}b`],
])('a failure %s has an ID of its own', (_, one, other) => {
  expect(fail(one)).not.toBe(fail(other))
})

it.each<[string, unknown, unknown]>([
  ['a text beyond 200 characters', `${'x'.repeat(200)}a`, `${'x'.repeat(200)}b`],
  ['a message beyond 200 characters', errorAt('', `${'x'.repeat(200)}a`), errorAt('', `${'x'.repeat(200)}b`)],
  [
    'a place beyond 2000 characters',
    errorAt(`${'x'.repeat(2000)}\n    at a`),
    errorAt(`${'x'.repeat(2000)}\n    at b`),
  ],
  ['the fourth cause', nested(4, 'a'), nested(4, 'b')],
])('a failure that only differs in %s has the same ID', (_, one, other) => {
  expect(fail(one)).toBe(fail(other))
})

it('a part of the program counts as what it is', () => {
  const cause = failure('25006')
  const ids = ['where', 'reason', 'task', 'topic', 'issuer'].map((part) => fail(cause, { [part]: 'a' }))
  expect(new Set(ids).size).toBe(5)
})

it('without a level and a clock, it is an error by the clock of the process', () => {
  const cause = failure('25006')
  const id = errorIdOf(log, 'a request failed', { cause })
  expect(errorIdOf(log, 'a request failed', { cause })).toBe(id)
  expect(lines()).toMatchObject([{ errorId: id, level: 'error' }])
})

it('a line is about a failure if it has a cause and no ID yet', () => {
  expect([{ cause: 1 }, { cause: 1, errorId: 'a' }, {}, { errorId: 'a' }].map(isFailure)).toEqual([
    true,
    false,
    false,
    false,
  ])
})
