/** What a call sends, and what of an answer a caller gets to see: another program at the address may send anything. */
import type { Method } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { callRpc, createRpcClient } from './rpc.ts'
import type { Fetch } from './send.ts'

const url = 'http://127.0.0.1:8083'
interface Sent {
  readonly url: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: unknown
}

function make(answer: unknown, status = 200) {
  const sent: Sent[] = []
  const fetch = (async (target, { method, headers, body }) => {
    sent.push({ url: target, method, headers, body: JSON.parse(body!) })
    return new Response(JSON.stringify(answer), {
      status,
      headers: { 'Content-Type': 'application/json' },
    })
  }) as Fetch
  return { sent, connection: { url, fetch } }
}

describe('a call', () => {
  it('has its method and parameters, and no credential unless there is one', async () => {
    const { sent, connection } = make({ jsonrpc: '2.0', id: 1, result: { a: 1 } })
    expect(await callRpc(connection, 'getMe', { b: 2 })).toEqual({ a: 1 })
    await callRpc({ ...connection, apiKey: 'k', path: '/other' }, 'getMe', undefined)
    expect(sent).toEqual([
      {
        ...{ url: `${url}/jsonrpc/v1`, method: 'POST', headers: { 'Content-Type': 'application/json' } },
        body: { jsonrpc: '2.0', id: 1, method: 'getMe', params: { b: 2 } },
      },
      {
        ...{ url: `${url}/other`, method: 'POST' },
        headers: { 'Content-Type': 'application/json', Authorization: 'Bearer k' },
        body: { jsonrpc: '2.0', id: 1, method: 'getMe' },
      },
    ])
  })

  it('has a function for each method of a table', async () => {
    const { sent, connection } = make({ result: false })
    const table = { one: { name: 'a.one' }, two: { name: 'two', timeoutMs: 5 } } as unknown as Record<
      string,
      Method
    >
    const client = createRpcClient(table, connection)
    expect(Object.keys(client)).toEqual(['one', 'two'])
    expect(await client.one!({ x: 1 })).toBe(false)
    await client.two!()
    expect(sent.map(({ body }) => body)).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'a.one', params: { x: 1 } },
      { jsonrpc: '2.0', id: 1, method: 'two' },
    ])
  })

  it('waits as long as its method declares', async () => {
    const signals: (AbortSignal | null | undefined)[] = []
    const fetch = (async (_, { signal }) => {
      signals.push(signal)
      return new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
      })
    }) as Fetch
    const table = { slow: { name: 'slow', timeoutMs: 1 } } as unknown as Record<string, Method>
    const client = createRpcClient(table, { url, fetch })
    await expect(client.slow!()).rejects.toMatchObject({ reason: 'timeout' })
  })
})

describe('an answer', () => {
  const data = { reason: 'not_found', detail: 'no x', hint: 'y', retryable: false }
  const failureOf = (answer: unknown, status?: number) =>
    callRpc(make(answer, status).connection, 'a', undefined).then(
      (result) => ({ result }),
      (cause: Error & { reason?: string }) => ({ reason: cause.reason, message: cause.message }),
    )

  it.each([200, 404, 429])('with an error of the method is that error, with status %i', async (status) => {
    expect(await failureOf({ error: { code: -32004, message: 'm', data } }, status)).toEqual({
      reason: 'not_found',
      message: 'no x',
    })
  })

  it.each(['reason', 'detail', 'hint'])(
    'with an error without its "%s" shows only its status',
    async (name) => {
      for (const wrong of [undefined, 5]) {
        const error = { code: 1, message: 'm', reason: 'r', data: { ...data, [name]: wrong } }
        expect(await failureOf({ error }, 400)).toEqual({
          reason: 'refused',
          message: `${url} answered HTTP 400 (r): m`,
        })
      }
    },
  )

  it.each([
    [{}, `${url} answered HTTP 500: no reason given`],
    [null, `${url} answered HTTP 500: no reason given`],
    [{ error: { message: 5, reason: {} } }, `${url} answered HTTP 500: no reason given`],
    [{ error: { message: 'down' } }, `${url} answered HTTP 500: down`],
    [{ result: 1 }, `${url} answered HTTP 500: no reason given`],
  ])('that is %j with another status is refused', async (answer, message) => {
    expect(await failureOf(answer, 500)).toEqual({ reason: 'refused', message })
  })

  it.each([{}, null, { error: {} }, { error: { data: 5 } }, []])('of %j cannot be read', async (answer) => {
    expect(await failureOf(answer)).toEqual({
      reason: 'bad_answer',
      message: `${url} sent neither result nor error`,
    })
  })

  it.each([null, 0, '', false])('may have the result %j', async (result) => {
    expect(await failureOf({ result })).toEqual({ result })
  })
})
