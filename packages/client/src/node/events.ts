/** Events of a runtime, as server-sent events (HTML Standard § 9.2). */
import type { IncomingMessage } from 'node:http'
import {
  catalogue,
  eventsPath,
  type Reason,
  type RuntimeEvent,
  type StreamEnd,
  type TopicName,
  topics,
} from '@selvedge/protocol'
import { ConnectionFailure, RpcFailure } from '../errors.ts'
import { linesOf, parse, readJson, type StreamConnection, send } from './streams.ts'

/** Milliseconds of silence: three of the comments that a runtime sends. */
const maxSilenceMs = 45_000

/** Characters of one event: the nodes of a large network are the longest. */
const maxEvent = 4 * 1024 * 1024

/** The events of some topics. */
type EventOf<Name extends TopicName> = Extract<RuntimeEvent, { topic: Name }>

/**
 * Follows topics: the current state of each first, then each change. It ends when the signal is aborted, the runtime stops or
 * the connection breaks; connect again for the state of that time.
 *
 * @param options.silenceMs milliseconds without a byte after which the connection counts as broken; default 45,000
 * @throws RpcFailure when the runtime refuses or ends the stream, such as `token_expired`; ConnectionFailure
 *
 * @example
 * ```ts
 * import { watchEvents } from '@selvedge/client/node'
 *
 * const connection = { url: 'http://127.0.0.1:8083', edgeAccessToken: process.env.ACCESS_TOKEN! }
 * for await (const { data } of watchEvents(connection, ['fixes'])) console.log(data?.latitude)
 * ```
 */
export async function* watchEvents<Name extends TopicName>(
  connection: StreamConnection,
  names: readonly Name[],
  { signal, silenceMs = maxSilenceMs }: { signal?: AbortSignal; silenceMs?: number } = {},
): AsyncGenerator<EventOf<Name>, void> {
  const query = new URLSearchParams({ topics: names.join() })
  const response = await send(
    connection,
    'GET',
    `${eventsPath}?${query}`,
    {},
    { signal, timeoutMs: silenceMs },
  )
  if (response.statusCode !== 200) await readJson(response)
  const type = response.headers['content-type']
  if (type !== 'text/event-stream') {
    response.destroy()
    throw new ConnectionFailure(
      'bad_answer',
      `the runtime answered ${JSON.stringify(type)} instead of events`,
    )
  }
  // A reader that is slow leaves bytes unread: that is no silence of the runtime.
  const onSilence = () => void (response.readableLength === 0 && response.destroy(new Error('silence')))
  response.setTimeout(silenceMs, onSilence)
  for await (const { name, data } of messagesOf(response)) {
    if (name === 'end') return endWith(data)
    // A topic of a later version.
    if (Object.hasOwn(topics, name)) yield eventOf(data, name) as EventOf<Name>
  }
}

/** @throws ConnectionFailure unless it is an event of its topic */
function eventOf(value: unknown, name: string): unknown {
  const { topic, data } = (value ?? {}) as { readonly topic?: unknown; readonly data?: unknown }
  if (topic === name && data !== undefined) return value
  throw new ConnectionFailure('bad_answer', `the runtime sent an event of ${name} without its topic and data`)
}

/** @throws RpcFailure unless the runtime stops */
function endWith(value: unknown): void {
  const { reason, detail } = (value ?? {}) as Partial<Record<keyof StreamEnd, unknown>>
  if (typeof reason !== 'string' || typeof detail !== 'string' || !Object.hasOwn(catalogue, reason)) return
  const { code, hint, retryable } = catalogue[reason as Reason]
  throw new RpcFailure({ code, message: detail, data: { reason: reason as Reason, detail, hint, retryable } })
}

/** Ends where the connection does, also when it breaks. */
async function* messagesOf(
  response: IncomingMessage,
): AsyncGenerator<{ readonly name: string; readonly data: unknown }> {
  let name = ''
  let data: string | undefined
  for await (const line of untilBroken(response)) {
    if (line.startsWith('event: ')) name = line.slice(7)
    else if (line.startsWith('data: ')) data = line.slice(6)
    else if (line === '' && data !== undefined) {
      yield { name, data: parse(data, 'an event') }
      data = undefined
    }
  }
}

async function* untilBroken(response: IncomingMessage): AsyncGenerator<string> {
  let isBroken = false
  response.on('error', () => {
    isBroken = true
  })
  try {
    yield* linesOf(response, maxEvent)
  } catch (cause) {
    if (!isBroken) throw cause
  }
}
