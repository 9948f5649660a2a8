/** What an answer shows: never a cause; and within the limit of a batch, what each call changed. */
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { RpcError } from '../errors/rpc-error.ts'
import type { Method } from '../methods/method.ts'
import { createAnswers } from './answers.ts'
import type { Entry } from './method-table.ts'

type Options = Parameters<typeof createAnswers<string>>[0]

function make(more: Partial<Options> = {}) {
  const reported: unknown[][] = []
  const answered: unknown[][] = []
  const answers = createAnswers<string>({
    mirror: false,
    limits: { depth: 1, batch: 1 },
    onAnswer: (...each) => void answered.push(each),
    onInternalError(...each) {
      reported.push(each)
      return 'error-1'
    },
    ...more,
  })
  return { ...answers, reported, answered }
}
const entry = (more: Partial<Method> = {}): Entry<string> => ({
  method: {
    ...{ name: 'a', summary: 'a', params: [], result: z.unknown(), reasons: [] },
    access: { caller: 'anyone' },
    ...more,
  },
  check: () => undefined,
  handler: () => undefined,
  last: undefined,
})

describe('a failure', () => {
  it('that is a refusal is shown, and not reported', () => {
    const { failure, reported, answered } = make()
    const answer = JSON.parse(failure(1, new RpcError('not_found', 'no x'), 'a', 'context'))
    expect(answer).toMatchObject({ id: 1, jsonrpc: '2.0', error: { data: { detail: 'no x' } } })
    expect(answer.error.data).not.toHaveProperty('errorId')
    expect(reported).toEqual([])
    expect(answered).toEqual([['a', 'not_found', 'context']])
  })

  it.each([new Error('secret'), new RpcError('internal_error', 'secret'), 'secret', undefined])(
    'that is no refusal is reported, and not shown: %o',
    (cause) => {
      const { failure, reported, answered } = make()
      const text = failure('x', cause, 'a', 'context')
      expect(JSON.parse(text)).toMatchObject({
        id: 'x',
        error: { data: { reason: 'internal_error', errorId: 'error-1' } },
      })
      expect(text).not.toContain('secret')
      expect(reported).toEqual([['a', cause, 'context']])
      expect(answered).toEqual([['a', 'internal_error', 'context']])
    },
  )

  it('that the transport explains is shown as that, and reported', () => {
    const full = new RpcError('limit_exceeded', 'the disk is full')
    const { failure, reported } = make({ explain: () => full })
    const answer = JSON.parse(failure(null, new Error('ENOSPC'), 'a', 'context'))
    expect(answer).toMatchObject({
      id: null,
      error: { data: { reason: 'limit_exceeded', detail: 'the disk is full', errorId: 'error-1' } },
    })
    expect(reported).toHaveLength(1)
  })

  it('before there was a request has no method, and counts as no call', () => {
    const { failure, reported, answered } = make()
    failure(null, new Error('x'))
    expect(reported).toEqual([['', expect.any(Error), undefined]])
    expect(answered).toEqual([])
  })

  it('is answered where the report fails, and where no one counts', () => {
    const { failure } = make({
      onAnswer: undefined,
      onInternalError() {
        throw new Error('the log is full')
      },
    })
    expect(JSON.parse(failure(1, new Error('x'), 'a', 'context')).error.data.errorId).toBe('not-logged')
  })
})

describe('a result', () => {
  it.each([
    [1, '{"id":1,"jsonrpc":"2.0","result":{"a":1}}'],
    ['"', '{"id":"\\"","jsonrpc":"2.0","result":{"a":1}}'],
    [null, '{"id":null,"jsonrpc":"2.0","result":{"a":1}}'],
  ])('has the ID of its call: %j', (id, expected) => {
    const { success, answered } = make()
    expect(success(id, entry(), { a: 1 }, 'context')).toBe(expected)
    expect(answered).toEqual([['a', undefined, 'context']])
  })

  it('repeats members only where both the transport and the method say so', () => {
    const result = { token: 't', other: 1 }
    const mirrored = entry({ mirrored: ['token'] } as Partial<Method>)
    const read = (mirror: boolean, of: Entry<string>) =>
      JSON.parse(make({ mirror }).success(1, of, result, 'context'))
    expect(read(true, mirrored)).toEqual({ id: 1, jsonrpc: '2.0', result, token: 't' })
    expect(read(false, mirrored)).toEqual({ id: 1, jsonrpc: '2.0', result })
    expect(read(true, entry())).toEqual({ id: 1, jsonrpc: '2.0', result })
  })

  it('that is frozen is written once; any other each time', () => {
    const { success } = make()
    const of = entry()
    let writes = 0
    const counted = { toJSON: () => ++writes }
    for (const _ of [1, 2]) success(1, of, counted, '')
    expect(writes).toBe(2)
    Object.freeze(counted)
    const texts = [success(1, of, counted, ''), success(2, of, counted, '')]
    expect(texts).toEqual(['{"id":1,"jsonrpc":"2.0","result":3}', '{"id":2,"jsonrpc":"2.0","result":3}'])
    // Another result is never answered with the text of this one.
    expect(success(1, of, Object.freeze({ b: 1 }), '')).toContain('{"b":1}')
    expect(success(1, of, 'text', '')).toContain('"result":"text"')
    expect(success(1, of, undefined, '')).toContain('"result":null')
    expect(success(1, entry(), undefined, '')).toContain('"result":null')
  })

  it('that cannot be written is a failure of its call', () => {
    const { success, answered } = make()
    expect(JSON.parse(success(1, entry(), 1n, 'context')).error.data.reason).toBe('internal_error')
    expect(answered).toEqual([['a', 'internal_error', 'context']])
  })
})

describe('the answer of a batch', () => {
  const long = JSON.stringify({ id: 1, result: 'x'.repeat(1100) })
  const short = JSON.stringify({ id: 2, result: 'x' })

  it('is absent where there were notifications alone', () => {
    expect(make().batch([], [])).toBeUndefined()
  })

  it('has all answers within the limit, and each short one beyond it', () => {
    const { batch } = make({ limits: { depth: 1, batch: 1, batchAnswer: long.length * 2 } })
    expect(batch([long, short, long], [1, 2, 3])).toBe(`[${long},${short},${long}]`)
    const read = JSON.parse(batch([long, long, long, short], [1, 2, 3, 4])!)
    expect(read.map(({ error }: { error?: { data: { reason: string } } }) => error?.data.reason)).toEqual([
      undefined,
      undefined,
      'limit_exceeded',
      undefined,
    ])
    expect(read[2]).toMatchObject({
      id: 3,
      error: { data: { detail: expect.stringContaining(`${long.length} characters`) } },
    })
  })

  it('leaves out one that is too long by a character, and sends a shorter one after it', () => {
    const { batch } = make({ limits: { depth: 1, batch: 1, batchAnswer: long.length - 1 } })
    const other = long.slice(0, -2)
    expect(JSON.parse(batch([long], [1])!)[0].error.data.reason).toBe('limit_exceeded')
    expect(batch([other], [1])).toBe(`[${other}]`)
    const limit = make({ limits: { depth: 1, batch: 1, batchAnswer: 0 } })
    const exact = 'x'.repeat(1024)
    expect(limit.batch([exact], [1])).toBe(`[${exact}]`)
    expect(limit.batch([`${exact}x`], [1])).toContain('limit_exceeded')
  })

  it('has 524,288 characters where nothing else is stated', () => {
    const most = 'x'.repeat(524_288)
    expect(make().batch([most], [1])).toBe(`[${most}]`)
    expect(make().batch([`${most}x`], [1])).toContain('limit_exceeded')
  })
})
