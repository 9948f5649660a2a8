/** Which span a piece of work belongs to, however it was started. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { shareRun } from '../share/share.ts'
import { inRequest, traced, tracedFetch, tracedRequests, tracedWork } from '../trace/trace.ts'
import type { Span } from './spans.ts'
import { followTraces, type Traces } from './traces.ts'

let spans: Span[]
let traces: Traces

beforeEach(() => {
  spans = []
  traces = followTraces({ routeOf: () => undefined, onSpan: (make) => void spans.push(make()) })
})
afterEach(() => traces.stop())

const foreign = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const rawHeaders = ['traceparent', `00-${foreign.traceId}-${foreign.spanId}-01`]

const newResponse = () =>
  Object.assign(new EventEmitter(), {
    req: { method: 'GET', rawHeaders, url: '/' },
    statusCode: 200,
    writableFinished: false,
  }) as unknown as ServerResponse

const answer = (response: ServerResponse) =>
  traces.onRequest({ request: response.req, response, route: '/a', begunAt: performance.now() })
const named = (name: string) => spans.filter((span) => span.name === name)
const store = () => traced('store', 'store statement', async () => undefined)

describe('work of a request', () => {
  it('is a child of its span, also after waiting, and its own children are below it', async () => {
    const response = newResponse()
    const sent: unknown[] = []
    const call = tracedFetch(
      'discovery',
      async (_url: string, { headers }: { method: string; headers: Record<string, string> }) => {
        await store()
        sent.push(headers)
      },
    )
    await inRequest(response, async () => {
      await nextTurn()
      await call('http://x/', { method: 'GET', headers: { a: 'b' } })
    })
    answer(response)
    const [request] = named('GET /a')
    const [called] = named('GET discovery')
    expect(request).toMatchObject({ links: [foreign] })
    expect(request).not.toHaveProperty('parentSpanId')
    expect(called).toMatchObject({ traceId: request!.traceId, parentSpanId: request!.spanId })
    expect(named('store statement')).toMatchObject([
      { traceId: request!.traceId, parentSpanId: called!.spanId },
    ])
    expect(sent).toEqual([{ a: 'b', traceparent: `00-${request!.traceId}-${called!.spanId}-01` }])
  })

  it('that two requests do at the same time is not mixed up', async () => {
    const responses = [newResponse(), newResponse()]
    await Promise.all(
      responses.map((response) =>
        inRequest(response, async () => {
          for (let at = 0; at < 5; at++) {
            await nextTurn()
            await store()
          }
        }),
      ),
    )
    responses.forEach(answer)
    for (const { spanId } of named('GET /a'))
      expect(spans.filter(({ parentSpanId }) => parentSpanId === spanId)).toHaveLength(5)
  })

  it('that failed is marked, and fails as before', async () => {
    const failing = inRequest(newResponse(), () =>
      traced('store', 'state', async () => {
        throw new Error('full')
      }),
    )
    await expect(failing).rejects.toThrow('full')
    expect(named('state')).toMatchObject([{ status: { code: 2 } }])
  })

  it('is no child of a request that was answered before: it links to it', async () => {
    const response = newResponse()
    const late = inRequest(response, async () => {
      await nextTurn()
      await traced('call', 'GET identity', async () => undefined)
      await store()
    })
    answer(response)
    await late
    const [request] = named('GET /a')
    const [called] = named('GET identity')
    expect(called).toMatchObject({ links: [{ spanId: request!.spanId }] })
    expect(called).not.toHaveProperty('parentSpanId')
    expect(called!.traceId).not.toBe(request!.traceId)
    expect(named('store statement')).toEqual([])
  })
})

it('shared work has a trace of its own, with a link to the first of its callers', async () => {
  const share = shareRun(store, 'keys')
  const responses = [newResponse(), newResponse()]
  await Promise.all(responses.map((response) => inRequest(response, () => share())))
  responses.forEach(answer)
  const [first] = named('GET /a')
  const [shared, ...others] = named('keys')
  expect(others).toEqual([])
  expect(shared).toMatchObject({ kind: 1, links: [{ traceId: first!.traceId, spanId: first!.spanId }] })
  expect(shared).not.toHaveProperty('parentSpanId')
  expect(shared!.traceId).not.toBe(first!.traceId)
  expect(named('store statement')).toMatchObject([{ traceId: shared!.traceId, parentSpanId: shared!.spanId }])
})

it('work without a request has no span, apart from calls', async () => {
  await store()
  await shareRun(store, 'flush')()
  await traced('call', 'POST identity', async () => undefined)
  expect(spans.map(({ name }) => name)).toEqual(['POST identity'])
  expect(spans[0]).not.toHaveProperty('links')
})

it('has a failed span for a request that its caller aborts', () => {
  const response = newResponse()
  inRequest(response, () => undefined)
  response.emit('close')
  expect(spans).toMatchObject([{ name: 'GET', status: { code: 2 }, links: [foreign] }])
  answer(newResponse())
  expect(spans).toHaveLength(2)
})

it('nothing listens after the end, and work is done without a trace', async () => {
  traces.stop()
  expect([tracedRequests.hasSubscribers, tracedWork.hasSubscribers]).toEqual([false, false])
  expect(
    await inRequest(newResponse(), () => traced('call', 'GET identity', async (sent) => [sent])),
  ).toEqual([undefined])
  expect(spans).toEqual([])
})
