import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CaughtFailure, inBackground, safely } from './safely.ts'

let caught: CaughtFailure[] = []
const collect = (message: unknown) => void caught.push(message as CaughtFailure)
beforeEach(() => {
  caught = []
  subscribe('selvedge:caught-failure', collect)
})
afterEach(() => void unsubscribe('selvedge:caught-failure', collect))

const boom = new Error('boom')
const fail = () => {
  throw boom
}

describe('safely', () => {
  it('passes the arguments on and reports nothing when the callback returns', () => {
    const seen: unknown[] = []
    safely('test.event', (one: number, two: string, three: object, four: null) =>
      seen.push(one, two, three, four),
    )(1, 'two', seen, null)
    expect(seen).toEqual([1, 'two', seen, null])
    expect(caught).toEqual([])
  })

  it('turns an exception into a refusal and reports it', () => {
    const refused: unknown[] = []
    safely('test.event', fail, (cause) => refused.push(cause))()
    expect(refused).toEqual([boom])
    expect(caught).toEqual([{ where: 'test.event', cause: boom }])
  })

  it('turns a rejection into a refusal that gets the arguments', async () => {
    const refused = Promise.withResolvers<unknown[]>()
    safely(
      'test.event',
      async (_request: string) => fail(),
      (...args) => refused.resolve(args.slice(0, 2)),
    )('request')
    expect(await refused.promise).toEqual([boom, 'request'])
  })

  it('reports a refusal that throws', () => {
    safely('test.event', fail, fail)()
    expect(caught.map(({ where }) => where)).toEqual(['test.event', 'test.event.refuse'])
  })
})

describe('inBackground', () => {
  it('reports the rejection of a promise that nothing awaits', async () => {
    inBackground('test.work', Promise.reject(boom))
    await new Promise(setImmediate)
    expect(caught).toEqual([{ where: 'test.work', cause: boom }])
  })
})
