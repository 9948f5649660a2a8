/** `GET /jsonrpc/v1/events?topics=…`: events as server-sent events (HTML Standard § 9.2), for programs without a WebSocket. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  eventsPath,
  expectedTopics,
  methods,
  RpcError,
  rpcPath,
  topicList,
  topicNames,
} from '@selvedge/protocol'
import { requestIdOf } from '@selvedge/service-kit/http'
import { safely } from '@selvedge/service-kit/safely'
import type { SharedEvent } from '../events/channel.ts'
import type { EventHub, EventSink } from '../events/hub.ts'
import type { QueryParameter } from './query.ts'
import { type Routes, withQuery } from './rest.ts'

/** Milliseconds of silence after which the connection is probed, so that a reader that vanished does not stay. */
const probeMs = 15_000
/** Milliseconds for the last event to leave. A reader that does not read would hold the connection. */
const lastBytesMs = 5000

/** URLs are logged and shown: a token in one is refused before anything else is looked at. */
const noToken: QueryParameter<never> = {
  expected: 'nothing',
  read() {
    throw new RpcError('invalid_params', 'a URL must not contain a token, because URLs are logged', {
      hint: 'Send the header "Authorization: Bearer <access token>". Revoke this token if others can read it.',
    })
  },
}

const query = {
  topics: {
    expected: expectedTopics,
    read: (text: string) => topicList.safeParse(text.split(',', topicNames.length + 1)).data,
  },
  token: noToken,
  access_token: noToken,
  edgeAccessToken: noToken,
  authorization: noToken,
  api_key: noToken,
}

export function eventsRoutes(hub: EventHub): Routes {
  const frameOf = createFrames()
  return {
    prefix: rpcPath,
    table: {
      [`GET ${eventsPath}`]: {
        as: methods.subscribe,
        readsQueryFirst: true,
        ...withQuery(query, async ({ owner, query: { topics }, request, response, endWithCaller }) => {
          if (!topics)
            throw new RpcError(
              'invalid_params',
              `the query parameter "topics" is missing; expected ${expectedTopics}`,
            )
          if (request.method === 'HEAD') return void begin(request, response).end()
          const stream = hub.open(owner, topics, sinkTo(request, response, frameOf))
          const unwatch = endWithCaller(stream.end, () => undefined)
          const close = safely('events.close', () => {
            unwatch()
            stream.close()
          })
          response.on('close', close)
          response.on(
            'drain',
            safely('events.drain', stream.flush, () => response.destroy()),
          )
          // A reader that left before: its "close" has been.
          if (response.destroyed) close()
          else stream.flush()
        }),
      },
    },
  }
}

const begin = (request: IncomingMessage, response: ServerResponse): ServerResponse =>
  response.writeHead(200, {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Accel-Buffering': 'no',
    'X-Request-Id': requestIdOf(request),
  })

function sinkTo(request: IncomingMessage, response: ServerResponse, frameOf: FrameOf): EventSink {
  /** The head is sent with the first event: a stream that is refused gets an answer of its own. */
  const head = () => {
    if (response.headersSent) return
    begin(request, response)
    response.socket?.setKeepAlive(true, probeMs)
  }
  return {
    isReady: () => !response.writableNeedDrain,
    send(event, lost) {
      head()
      response.write(frameOf(event, lost))
      return true
    },
    beat() {
      if (!response.writableNeedDrain) response.write(': still here\n\n')
    },
    end(reason) {
      head()
      response.end(`event: end\ndata: ${JSON.stringify(reason)}\n\n`)
      setTimeout(() => response.destroy(), lastBytesMs).unref()
    },
  }
}

type FrameOf = (event: SharedEvent, lost: number) => Buffer

/** The bytes of an event are the same for all readers that keep up. JSON has no line feeds, so one "data" line is enough. */
function createFrames(): FrameOf {
  const frames = new WeakMap<SharedEvent, Buffer>()
  const make = ({ topic, number, data }: SharedEvent, lost: number): Buffer => {
    const json = `{"topic":"${topic}","data":${data}${lost > 0 ? `,"lost":${lost}` : ''}}`
    return Buffer.from(`id: ${topic}-${number}\nevent: ${topic}\ndata: ${json}\n\n`)
  }
  return (event, lost) => {
    if (lost > 0) return make(event, lost)
    const known = frames.get(event) ?? make(event, 0)
    frames.set(event, known)
    return known
  }
}
