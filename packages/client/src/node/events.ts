/** Events of a runtime, as server-sent events (HTML Standard § 9.2). */
import type { IncomingMessage } from 'node:http'
import { eventsPath, type RuntimeEvent, type TopicName } from '@selvedge/protocol'
import { ConnectionFailure } from '../errors.ts'
import { createMessageReader, endWith, eventOf, type Message } from './event-messages.ts'
import { answerLines, readJson, type StreamConnection, send } from './streams.ts'

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
    const event = eventOf(name, data)
    if (event) yield event as EventOf<Name>
  }
}

/** Ends where the connection does, also when it breaks. */
async function* messagesOf(response: IncomingMessage): AsyncGenerator<Message> {
  const read = createMessageReader()
  for await (const line of untilBroken(response)) {
    const message = read(line)
    if (message) yield message
  }
}

async function* untilBroken(response: IncomingMessage): AsyncGenerator<string> {
  let isBroken = false
  response.on('error', () => {
    isBroken = true
  })
  try {
    yield* answerLines(response, maxEvent)
  } catch (cause) {
    if (!isBroken) throw cause
  }
}
