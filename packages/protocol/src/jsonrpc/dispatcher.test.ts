import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { RpcError } from '../errors/rpc-error.ts'
import type { Method } from '../methods/method.ts'
import { createDispatcher } from './dispatcher.ts'

const declare = (name: string, more: Partial<Method> = {}): Method => ({
  name,
  summary: name,
  params: [],
  result: z.unknown(),
  reasons: [],
  access: { caller: 'anyone' },
  ...more,
})

type Handlers = Record<string, (params: object, caller: unknown) => unknown>

function make(handlers: Handlers, methods = Object.keys(handlers).map((name) => declare(name)), checks = {}) {
  const causes: unknown[] = []
  const dispatcher = createDispatcher<Record<string, Method>, { anyone: unknown }, undefined>({
    methods: Object.fromEntries(methods.map((each) => [each.name, each])),
    checks: { anyone: () => undefined, ...checks },
    handlers,
    mirror: true,
    limits: { depth: 32, batch: 100 },
    onInternalError(_, cause) {
      causes.push(cause)
      return 'error-1'
    },
  })
  const call = async (body: unknown) => {
    const answer = await dispatcher.dispatch(JSON.stringify(body), undefined)
    return answer === undefined ? undefined : JSON.parse(answer)
  }
  return { call, causes }
}

describe('a dispatcher', () => {
  it('does not start with a method that has no handler, nor with a handler that has no method', () => {
    expect(() => make({}, [declare('a')])).toThrow('method a has no handler')
    expect(() => make({ a: () => 1 }, [])).toThrow('handler a has no method')
    expect(() => make({}, [declare('toString')])).toThrow('method toString has no handler')
  })

  it.each([
    ['declares nothing', {}],
    ['declares an empty access', { access: {} }],
    ['declares a caller that nothing checks', { access: { caller: 'operator' } }],
    ['declares a member that every object has', { access: { caller: 'toString' } }],
  ])('does not start with a method that %s', (_, more) => {
    const method = declare('a', { access: undefined, ...more } as Partial<Method>)
    expect(() => make({ a: () => 1 }, [method])).toThrow('method a does not declare who may call it')
  })

  it.each([
    [
      'throws',
      () => {
        throw new RpcError('token_missing', 'no')
      },
    ],
    [
      'rejects',
      async () => {
        throw new RpcError('token_missing', 'no')
      },
    ],
  ])('never enters a handler whose check %s', async (_, anyone) => {
    let runs = 0
    const { call } = make({ a: () => ++runs }, undefined, { anyone })
    const answer = await call({ jsonrpc: '2.0', method: 'a', id: 1 })
    expect(answer.error.data.reason).toBe('token_missing')
    expect(runs).toBe(0)
  })

  it.each([
    ['at once', () => 'Ann'],
    ['later', async () => 'Ann'],
  ])('hands the handler the caller that was verified %s', async (_, anyone) => {
    const { call } = make({ a: (_params, caller) => ({ caller }) }, undefined, { anyone })
    expect((await call({ jsonrpc: '2.0', method: 'a', id: 1 })).result).toEqual({ caller: 'Ann' })
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('secret of the inside')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('secret of the inside')
      },
    ],
  ])(
    'shows no internals when a handler %s, and logs the cause under the id of the answer',
    async (_, handler) => {
      const { call, causes } = make({ a: handler })
      const answer = await call({ jsonrpc: '2.0', method: 'a', id: 1 })
      expect(answer).toMatchObject({
        id: 1,
        error: {
          code: -32603,
          message: 'Internal error',
          data: { reason: 'internal_error', errorId: 'error-1' },
        },
      })
      expect(JSON.stringify(answer)).not.toContain('secret')
      expect(causes).toEqual([new Error('secret of the inside')])
    },
  )

  describe.each<[string, () => unknown]>([
    ['holds a BigInt', () => ({ value: 1n })],
    [
      'holds itself',
      () => {
        const value: { self?: unknown } = {}
        value.self = value
        return value
      },
    ],
    [
      'has a toJSON that throws',
      () => ({
        toJSON() {
          throw new Error('no JSON')
        },
      }),
    ],
  ])('a result that %s', (_, result) => {
    it.each<[string, () => unknown]>([
      ['at once', result],
      ['later', async () => result()],
    ])(
      'given %s is one internal error, and the other calls of the batch are answered',
      async (_when, handler) => {
        const { call, causes } = make({ bad: handler, good: () => 1 })
        const batch = [
          { jsonrpc: '2.0', method: 'bad', id: 1 },
          { jsonrpc: '2.0', method: 'good', id: 2 },
        ]
        expect(await call(batch)).toEqual([
          { id: 1, jsonrpc: '2.0', error: expect.objectContaining({ code: -32603 }) },
          { id: 2, jsonrpc: '2.0', result: 1 },
        ])
        expect(causes).toHaveLength(1)
      },
    )
  })

  it.each<[string, () => unknown]>([
    ['at once', () => ({ value: 1n })],
    ['later', async () => ({ value: 1n })],
  ])('answers a failure that comes %s and cannot be reported', async (_, handler) => {
    const dispatcher = createDispatcher<Record<string, Method>, { anyone: unknown }, undefined>({
      methods: { a: declare('a') },
      checks: { anyone: () => undefined },
      handlers: { a: handler },
      mirror: true,
      limits: { depth: 32, batch: 100 },
      onInternalError() {
        throw new Error('the log is full')
      },
    })
    const answer = await dispatcher.dispatch('{"jsonrpc":"2.0","method":"a","id":1}', undefined)
    expect(JSON.parse(answer!)).toMatchObject({ id: 1, error: { data: { errorId: 'not-logged' } } })
  })

  it('answers a refusal in the words of the catalogue, without its cause', async () => {
    const refuse = () => {
      throw new RpcError('not_found', 'there is no x', { cause: new Error('secret') })
    }
    expect(await make({ a: refuse }).call({ jsonrpc: '2.0', method: 'a', id: 1 })).toEqual({
      id: 1,
      jsonrpc: '2.0',
      error: {
        code: -32004,
        message: 'Not found',
        data: { reason: 'not_found', detail: 'there is no x', hint: expect.any(String), retryable: false },
      },
    })
  })

  it('answers null where a handler gives nothing', async () => {
    expect(await make({ a: () => undefined }).call({ jsonrpc: '2.0', method: 'a', id: 1 })).toEqual({
      id: 1,
      jsonrpc: '2.0',
      result: null,
    })
  })

  it('runs notifications of a batch, and answers them with nothing even when they fail', async () => {
    let runs = 0
    const { call } = make({
      a: () => {
        runs++
        throw new Error('x')
      },
    })
    expect(
      await call([
        { jsonrpc: '2.0', method: 'a' },
        { jsonrpc: '2.0', method: 'a' },
      ]),
    ).toBeUndefined()
    expect(runs).toBe(2)
  })

  it('waits for all of a batch, in which quick and slow calls are mixed', async () => {
    const { call } = make({
      slow: () => new Promise((resolve) => setTimeout(() => resolve('s'), 5)),
      quick: () => 'q',
    })
    const answers = await call([
      { jsonrpc: '2.0', method: 'slow', id: 1 },
      { jsonrpc: '2.0', method: 'quick', id: 2 },
      { jsonrpc: '2.0', method: 'slow', id: 3 },
    ])
    expect(answers.map(({ id, result }: { id: number; result: string }) => [id, result])).toEqual([
      [1, 's'],
      [2, 'q'],
      [3, 's'],
    ])
  })

  it('serializes the result again if a handler returns the same object and it is not frozen', async () => {
    const shared = { count: 0 }
    const { call } = make({
      a: () => {
        shared.count++
        return shared
      },
    })
    await call({ jsonrpc: '2.0', method: 'a', id: 1 })
    expect((await call({ jsonrpc: '2.0', method: 'a', id: 2 })).result).toEqual({ count: 2 })
  })
})

describe('a request', () => {
  const call = { jsonrpc: '2.0', method: 'a', id: 1 }
  const large = (size: number) => declare('large', { maxBodyBytes: size } as Partial<Method>)

  function open({
    methods = [declare('a')],
    limits = {},
    ...more
  }: Record<string, unknown> & {
    methods?: Method[]
  } = {}) {
    const ran: string[] = []
    const dispatcher = createDispatcher<Record<string, Method>, { anyone: unknown }, string>({
      methods: Object.fromEntries(methods.map((each) => [each.name, each])),
      checks: { anyone: () => undefined },
      handlers: Object.fromEntries(methods.map(({ name }) => [name, () => ran.push(name)])),
      mirror: false,
      limits: { depth: 3, batch: 2, ...(limits as object) },
      onInternalError: () => 'error-1',
      ...more,
    })
    const reasonOf = async (text: string, bytes?: number) =>
      JSON.parse((await dispatcher.dispatch(text, 'context', bytes))!).error?.data.reason
    return { dispatcher, ran, reasonOf }
  }

  it.each([
    ['{', 'parse_error'],
    ['{"a":1,"a":2}', 'parse_error'],
    ['[[[[]]]]', 'limit_exceeded'],
    ['[]', 'invalid_request'],
    ['1', 'invalid_request'],
    [JSON.stringify([call, call, call]), 'limit_exceeded'],
    [JSON.stringify({ ...call, method: 'b' }), 'method_not_found'],
    [JSON.stringify({ ...call, method: 'toString' }), 'method_not_found'],
    [JSON.stringify({ ...call, params: { x: 1 } }), 'invalid_params'],
    [JSON.stringify(call), undefined],
  ])('%s is refused as %s', async (text, reason) => {
    const { reasonOf, ran } = open()
    expect(await reasonOf(text)).toBe(reason)
    expect(ran).toEqual(reason === undefined ? ['a'] : [])
  })

  it('with the most calls of a batch runs each of them', async () => {
    const { dispatcher, ran } = open()
    const answer = JSON.parse((await dispatcher.dispatch(JSON.stringify([call, call]), 'context'))!)
    expect(answer).toHaveLength(2)
    expect(ran).toEqual(['a', 'a'])
  })

  it('shows no more than 80 characters of a method that is not there', async () => {
    const { dispatcher } = open()
    const text = JSON.stringify({ ...call, method: 'm'.repeat(100) })
    const { error } = JSON.parse((await dispatcher.dispatch(text, 'context'))!)
    expect(error.data.detail).toBe(`there is no method "${'m'.repeat(80)}"`)
  })

  it('with text that a database cannot hold is refused where that is stored', async () => {
    const text = JSON.stringify({ ...call, params: { x: '\0' } })
    expect(await open().reasonOf(text)).toBe('invalid_params')
    expect(await open({ limits: { isStored: true } }).reasonOf(text)).toBe('parse_error')
  })

  it('is admitted before its parameters are read', async () => {
    const admitted: unknown[][] = []
    const admit = (...each: unknown[]) => {
      admitted.push(each)
      throw new RpcError('limit_exceeded', 'later')
    }
    const method = declare('a')
    const { reasonOf, ran } = open({ methods: [method], admit })
    expect(await reasonOf(JSON.stringify({ ...call, params: { x: 1 } }))).toBe('limit_exceeded')
    expect(admitted).toEqual([[method, 'context']])
    expect(ran).toEqual([])
  })

  it('that is too large is refused: by the largest method, then by those that it calls', async () => {
    const { reasonOf, ran } = open({ methods: [declare('a'), large(200_000)] })
    const own = { ...call, method: 'large' }
    expect(await reasonOf(JSON.stringify(own), 200_000)).toBeUndefined()
    expect(await reasonOf('not even JSON', 200_001)).toBe('limit_exceeded')
    expect(await reasonOf(JSON.stringify(call), 200_000)).toBe('limit_exceeded')
    expect(await reasonOf(JSON.stringify([own, call]), 200_000)).toBe('limit_exceeded')
    for (const other of [{ ...call, method: 'none' }, { ...call, method: 5 }, null, 1, [null]])
      expect(await reasonOf(JSON.stringify(other), 200_000), JSON.stringify(other)).toBe('limit_exceeded')
    expect(ran).toEqual(['large'])
  })

  it('names the limit, and the method that it is of', async () => {
    const { dispatcher } = open({ methods: [declare('a'), large(200_000)] })
    const detailOf = async (text: string, bytes: number) =>
      JSON.parse((await dispatcher.dispatch(text, 'context', bytes))!).error.data.detail
    expect(await detailOf('', 200_001)).toMatch(/^the body has 200001 bytes; a body may have at most 200000$/)
    expect(await detailOf(JSON.stringify(call), 200_000)).toMatch(/a body with a call of a may have/)
  })

  it('that never became a text is refused without an ID', () => {
    const answer = open().dispatcher.refuse(new RpcError('limit_exceeded', 'too large'))
    expect(JSON.parse(answer)).toMatchObject({ id: null, error: { data: { reason: 'limit_exceeded' } } })
  })

  it('reports each call that was answered by its name as it was sent', async () => {
    const answered: unknown[][] = []
    const { dispatcher } = open({ onAnswer: (...each: unknown[]) => void answered.push(each) })
    await dispatcher.dispatch(JSON.stringify([call, { ...call, method: 'b' }]), 'context')
    await dispatcher.dispatch('{', 'context')
    expect(answered).toEqual([
      ['a', undefined, 'context'],
      ['b', 'method_not_found', 'context'],
      ['', 'parse_error', 'context'],
    ])
  })
})
