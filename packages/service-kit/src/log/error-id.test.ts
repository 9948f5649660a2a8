/** Failures that repeat: one line a minute for each cause, and every ID that a caller got is in the log. */
import { beforeEach, expect, it } from 'vitest'
import { createMemoryLog } from '../testing/index.ts'
import { errorIdOf } from './error-id.ts'

let log: ReturnType<typeof createMemoryLog>
let time: number
beforeEach(() => {
  log = createMemoryLog()
  time = 0
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
  time = 59_999
  expect(fail(failure('25006'))).toBe(ids[0])
  time = 60_000
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
  expect(lines().length).toBeLessThan(110)
  const shown = new Set(lines().map(({ errorId }) => errorId))
  expect(ids.every((id) => shown.has(id))).toBe(true)
  time = 60_000
  fail(failure('another'))
  expect(lines().length).toBeLessThan(111)
})

it('a new cause has a line of its own again a minute after many others were repeated', () => {
  for (let at = 0; at < 500; at++) fail(failure(`cause ${at % 250}`))
  time = 60_000
  const [first, second] = [fail(failure('new')), fail(failure('newer'))]
  expect(
    lines()
      .slice(-2)
      .map(({ errorId }) => errorId),
  ).toEqual([first, second])
})
