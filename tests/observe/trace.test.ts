/** A slow call is followed from the runtime to the services behind it, and to their stores. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RecordingCollector, type Span, startCollector } from '../harness/collector.ts'
import { accessToken, createDeveloper, runtimeOf } from '../harness/flow.ts'
import { type Stack, startProgram, startStack, temporaryFolder } from '../harness/processes.ts'

const daemons = ['runtime', 'identity', 'discovery'] as const
const kinds = { internal: 1, server: 2, client: 3 } as const
/** Sent by hostile callers: nothing may become a part of this trace. */
const foreign = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const traceparent = `00-${foreign.traceId}-${foreign.spanId}-01`

const collectors = {} as Record<(typeof daemons)[number], RecordingCollector>
let stack: Stack
let nodeId: string

beforeAll(async () => {
  for (const name of daemons) collectors[name] = await startCollector()
  const options = (name: (typeof daemons)[number]) => [`--otel.endpoint=${collectors[name].url}`]
  stack = await startStack({
    runtime: options('runtime'),
    identity: options('identity'),
    discovery: options('discovery'),
  })
  const token = await accessToken(stack, await createDeveloper(stack.state))
  const runtime = runtimeOf(stack)
  await runtime.associateAccount({ edgeAccessToken: token })
  const signal = { longitude: '13.377775', latitude: '52.516213', speed: '0', bearing: '0' }
  await runtime.updateGps({ edgeAccessToken: token, ...signal })
  ;({ nodeId } = await runtime.getMe())
  const headers = { 'Content-Type': 'application/json', traceparent, tracestate: 'a=b' }
  const call = { jsonrpc: '2.0', method: 'getNodes', params: [token, 'account'], id: 1 }
  const answer = await fetch(`${stack.runtime.url}/jsonrpc/v1`, {
    method: 'POST',
    headers,
    body: JSON.stringify(call),
  })
  expect((await answer.json()).result.data).toHaveLength(1)
  await (await fetch(`${stack.discovery.url}/v1/nodes`, { headers })).text()
  await (await fetch(`${stack.identity.url}/token`, { method: 'POST', headers })).text()
  // The last spans are sent when they stop.
  for (const each of [stack.runtime, stack.discovery, stack.identity]) await each.stop()
})
afterAll(async () => {
  await stack.stop()
  for (const name of daemons) collectors[name].stop()
})

const linkTo = ({ traceId, spanId }: { traceId: string; spanId: string }) => ({ traceId, spanId })
const childrenOf = (spans: readonly Span[], { traceId, spanId }: Span) =>
  spans.filter((each) => each.traceId === traceId && each.parentSpanId === spanId)
const linkedTo = (spans: readonly Span[], { spanId }: { spanId: string }) =>
  spans.filter(({ links = [] }) => links.some((link) => link.spanId === spanId))

describe('a call of getNodes', () => {
  it('is followed through the runtime to the discovery service and its store', () => {
    const own = collectors.runtime.spans()
    const [call] = linkedTo(own, foreign)
    expect(call).toMatchObject({ name: 'POST /jsonrpc/v1', kind: kinds.server, links: [foreign] })
    const [asked] = childrenOf(own, call!)
    expect(asked).toMatchObject({ name: 'GET discovery', kind: kinds.client })
    const theirs = collectors.discovery.spans()
    const [served] = linkedTo(theirs, asked!)
    expect(served).toMatchObject({ name: 'GET /v1/nodes', kind: kinds.server, links: [linkTo(asked!)] })
    const stored = childrenOf(theirs, served!)
    expect(stored.map(({ name, kind }) => [name, kind])).toContainEqual(['store statement', kinds.client])
  })
})

describe('work that callers share', () => {
  it('has a trace of its own, which links its first caller, and all its requests', () => {
    const own = collectors.runtime.spans()
    const [session] = own.filter(({ name }) => name === 'discovery session')
    expect(session).toMatchObject({ kind: kinds.internal })
    const [link] = session!.links!
    expect(own.find(({ spanId }) => spanId === link!.spanId)).toMatchObject({ kind: kinds.server })
    expect(session!.traceId).not.toBe(link!.traceId)
    const within = own.filter(({ traceId }) => traceId === session!.traceId)
    expect(within.map(({ name }) => name)).toContain('POST discovery')
    const begun = within.filter(({ name }) => name === 'POST discovery')
    expect(begun.flatMap((each) => linkedTo(collectors.discovery.spans(), each))[0]).toMatchObject({
      name: 'POST /v1/sessions',
    })
  })

  it('reaches the identity service', () => {
    const asked = collectors.runtime.spans().filter(({ name }) => name === 'POST identity')
    const served = asked.flatMap((each) => linkedTo(collectors.identity.spans(), each))
    expect(served.map(({ name }) => name)).toContain('POST /edge/token')
    expect(served.flatMap((each) => childrenOf(collectors.identity.spans(), each)).length).toBeGreaterThan(0)
  })
})

it.each(daemons)('a trace from outside is only linked to at the %s daemon, and not passed on', (name) => {
  const spans = collectors[name].spans()
  const theirs = linkedTo(spans, foreign)
  expect(theirs).toHaveLength(1)
  expect(
    spans.filter(
      ({ traceId, parentSpanId }) => traceId === foreign.traceId || parentSpanId === foreign.spanId,
    ),
  ).toEqual([])
  expect(theirs[0]!.parentSpanId).toBe(undefined)
})

it.each(daemons)('the %s daemon exports no node, no query and no address', (name) => {
  const text = collectors[name].text()
  for (const part of [nodeId, '13.377', '127.0.0.1', 'SELECT', '?', 'a=b']) expect(text).not.toContain(part)
})

it('every parent of a span is exported by the same daemon', () => {
  for (const name of daemons) {
    const spans = collectors[name].spans()
    const known = new Set(spans.map(({ spanId }) => spanId))
    expect(known.size).toBe(spans.length)
    expect(
      spans.filter(({ parentSpanId }) => parentSpanId !== undefined && !known.has(parentSpanId)),
    ).toEqual([])
  }
})

it('without a collector a runtime sends no trace context', async () => {
  const headers: string[] = []
  const identity = createServer((request, response) => {
    headers.push(...Object.keys(request.headers))
    response.writeHead(400, { 'Content-Type': 'application/json' }).end('{"error":"invalid_request"}')
  })
  identity.listen(0, '127.0.0.1')
  await once(identity, 'listening')
  const folder = await temporaryFolder()
  const url = `http://127.0.0.1:${(identity.address() as AddressInfo).port}`
  const env = { SELVEDGE_STATE: folder.path, SELVEDGE_RUNTIME_PORT: '0', SELVEDGE_IDENTITY_URL: url }
  const runtime = await startProgram('runtime', env)
  const body = '{"jsonrpc":"2.0","method":"getEdgeIdToken","id":1}'
  const type = { 'Content-Type': 'application/json', traceparent }
  await (await fetch(`${runtime.url}/jsonrpc/v1`, { method: 'POST', headers: type, body })).text()
  await runtime.stop()
  identity.close()
  identity.closeAllConnections()
  await folder.remove()
  expect(headers).toContain('dpop')
  expect(headers).not.toContain('traceparent')
})
