/** Subscriptions of a WebSocket: each belongs to its connection, and ends once. */
import { RpcError } from '@selvedge/protocol'
import { beforeEach, expect, it } from 'vitest'
import type { LastingAnswer } from '../../device/tokens/lasting.ts'
import type { EventSink } from './hub.ts'
import { createSubscriptions, type Subscriptions } from './subscriptions.ts'

interface Opened {
  readonly owner: unknown
  readonly names: unknown
  readonly sink: EventSink
  readonly calls: string[]
}

let opened: Opened[]
let watched: LastingAnswer[]
let unwatched: number
let checks: unknown[]
let subscriptions: Subscriptions
beforeEach(() => {
  opened = []
  watched = []
  unwatched = 0
  checks = []
  subscriptions = createSubscriptions(
    {
      open(owner: unknown, names: unknown, sink: EventSink) {
        const calls: string[] = []
        opened.push({ owner, names, sink, calls })
        return {
          flush: () => calls.push('flush'),
          end: (cause: RpcError) => sink.end({ reason: cause.reason, detail: cause.message }),
          close: () => calls.push('close'),
        }
      },
    } as never,
    {
      expectStillValid: (...each: unknown[]) => void checks.push(['still valid', ...each]),
      authorize: (...each: unknown[]) => checks.push(['authorize', ...each]),
      lasting: {
        watch(answer: LastingAnswer) {
          watched.push(answer)
          return () => void unwatched++
        },
      },
    } as never,
  )
})

const owner = { sub: 'a' } as never
function connect() {
  const sent: object[] = []
  const ends = new Set<() => void>()
  const connection = {
    unsentBytes: 0,
    send: (text: string) => sent.push(JSON.parse(text)) > 0,
    onEnd(callback: () => void) {
      ends.add(callback)
      return () => ends.delete(callback)
    },
  }
  const context = { connection } as never
  const subscribe = () =>
    subscriptions.subscribe({ edgeAccessToken: 'token', topics: ['clock'] }, owner, context).subscription
  return { connection, context, sent, ends, subscribe }
}
const event = { topic: 'clock', number: 1, data: '{"state":"held"}' } as const

it('has an ID that its connection has not used, before its first event', async () => {
  const one = connect()
  expect([one.subscribe(), one.subscribe(), connect().subscribe()]).toEqual(['1', '2', '1'])
  expect(opened[0]).toMatchObject({ owner, names: ['clock'], calls: [] })
  await expect.poll(() => opened[0]!.calls).toEqual(['flush'])
})

it('sends notifications with its ID, and with the number of events that were lost', () => {
  const { sent, subscribe } = connect()
  subscribe()
  const [{ sink }] = opened as [Opened]
  expect([sink.send(event, 0), sink.send(event, 3)]).toEqual([true, true])
  const params = { subscription: '1', topic: 'clock', data: { state: 'held' } }
  expect(sent).toEqual([
    { jsonrpc: '2.0', method: 'event', params },
    { jsonrpc: '2.0', method: 'event', params: { ...params, lost: 3 } },
  ])
})

it('waits while 32 KiB wait for the client', () => {
  const { connection, subscribe } = connect()
  subscribe()
  const [{ sink }] = opened as [Opened]
  expect(sink.isReady()).toBe(true)
  connection.unsentBytes = 32 * 1024 - 1
  expect(sink.isReady()).toBe(true)
  connection.unsentBytes++
  expect(sink.isReady()).toBe(false)
})

it('ends with its reason when its caller lost the access', () => {
  const { sent, subscribe, ends } = connect()
  subscribe()
  watched[0]!.end(new RpcError('token_revoked', 'the token was revoked'))
  expect(sent).toEqual([
    {
      ...{ jsonrpc: '2.0', method: 'event' },
      params: { subscription: '1', end: { reason: 'token_revoked', detail: 'the token was revoked' } },
    },
  ])
  expect([opened[0]!.calls, unwatched, ends.size]).toEqual([['close'], 1, 0])
})

it('is checked as a call of its owner, and verified with its own token and request', async () => {
  const { context, subscribe } = connect()
  subscribe()
  const [{ expectAllowed, verifyAgain }] = watched as [LastingAnswer]
  expectAllowed()
  await verifyAgain()
  expect(checks).toEqual([
    ['still valid', owner, expect.anything()],
    ['authorize', 'token', expect.anything(), context, 'subscribe'],
  ])
})

it('can be closed by its own connection only, and once', () => {
  const { context, subscribe, ends } = connect()
  const id = subscribe()
  const other = connect()
  expect(() => subscriptions.unsubscribe(id, other.context)).toThrow(
    expect.objectContaining({ reason: 'not_found' }),
  )
  expect(opened[0]!.calls).toEqual([])
  expect(subscriptions.unsubscribe(id, context)).toEqual({ subscription: id })
  expect([opened[0]!.calls, unwatched, ends.size]).toEqual([['close'], 1, 0])
  expect(() => subscriptions.unsubscribe(id, context)).toThrow(`has no subscription "${id}"`)
})

it('ends with its connection', () => {
  const { subscribe, ends } = connect()
  subscribe()
  subscribe()
  for (const end of [...ends]) end()
  expect([opened.map(({ calls }) => calls), unwatched, ends.size]).toEqual([[['close'], ['close']], 2, 0])
})

it('needs a connection that stays open', () => {
  const refusal = expect.objectContaining({ reason: 'websocket_required' })
  const params = { edgeAccessToken: 'token', topics: [] }
  expect(() => subscriptions.subscribe(params, owner, {} as never)).toThrow(refusal)
  expect(() => subscriptions.unsubscribe('1', {} as never)).toThrow(refusal)
  expect(opened).toEqual([])
})
