/** The files of the daemons that write to a stream. */

export interface Stream {
  readonly what: string
  /** Code of the file that makes the writer wait, or limits what waits. */
  readonly bound: string
  /** Tests that open this stream with a reader that never reads. */
  readonly tests: readonly { readonly file: string; readonly title: string }[]
}

const stream = (
  what: string,
  bound: string,
  ...tests: readonly (readonly [file: string, title: string])[]
) => ({
  what,
  bound,
  tests: tests.map(([file, title]) => ({ file, title })),
})

/** Opens streams of running daemons, one row each. */
const neverRead = 'tests/system/attacks/never-read.test.ts'

export const streams: Readonly<Record<string, Stream>> = {
  'apps/runtime/src/api/rest/events-routes.ts': stream(
    'events of the runtime',
    'response.writableNeedDrain',
    [
      'tests/system/attacks/events.test.ts',
      'holds bounded memory while a log floods, and later learns how many events it lost',
    ],
  ),
  'apps/runtime/src/services/gateway/client-answer.ts': stream('answers of services', 'upstream.pause()', [
    neverRead,
    'the answer of a service',
  ]),
  'apps/runtime/src/services/gateway/send-request.ts': stream(
    'requests to services',
    'pauseUntilDrained(request, socket)',
    ['tests/attacks/streams.test.ts', 'of a request is not sent more than the buffers on the way hold'],
  ),
  'apps/runtime/src/api/http2/stream-socket.ts': stream(
    'answers over HTTP/2',
    'this.#isFull && !this.#isAnswered',
    ['apps/runtime/src/api/http2/session.test.ts', 'an answer without a reader is not read from its source'],
  ),
  'apps/runtime/src/services/gateway/http2-carrier.ts': stream(
    'requests to services that speak HTTP/2',
    'pauseUntilDrained(request, stream)',
    [
      'apps/runtime/src/services/gateway/http2-carrier.test.ts',
      'an answer is not read faster than its client reads, and a request not faster than its service',
    ],
  ),
  'apps/runtime/src/services/gateway/egress.ts': stream(
    'calls of a function to the outside, and their answers',
    'incoming.pipe(response)',
    [neverRead, 'the answer of another host, asked by a function'],
    ['apps/runtime/src/services/gateway/egress.test.ts', 'reads no more of an answer than the function does'],
    [
      'apps/runtime/src/services/gateway/egress.test.ts',
      'reads no more of a body of the function than the host does',
    ],
  ),
  'apps/runtime/src/services/gateway/tunnels/relay.ts': stream(
    'TCP connections of functions, both ways',
    'upstream.pause()',
    [
      'apps/runtime/src/services/gateway/tunnels/tunnels.test.ts',
      'of the function does not fill the runtime',
    ],
    [
      'apps/runtime/src/services/gateway/tunnels/tunnels.test.ts',
      'on the other side does not fill it either',
    ],
  ),
  'apps/runtime/src/services/gateway/tunnels/tunnels.ts': stream(
    'the answer to the request for a TCP connection of a function',
    'clients.delete',
    [
      'apps/runtime/src/services/gateway/tunnels/tunnels.test.ts',
      'of the function does not fill the runtime',
    ],
  ),
  'apps/runtime/src/services/ports/tcp-port.ts': stream(
    'connections of ports, in both directions',
    'client.pipe(container)',
    ['apps/runtime/src/services/ports/tcp-port.test.ts', 'that never reads makes the container wait'],
  ),
  'apps/runtime/src/services/gateway/upgrade.ts': stream(
    'WebSockets of services',
    'upstream.pipe(frames.stream).pipe(socket)',
    [neverRead, 'a WebSocket of a service'],
    [
      'apps/runtime/src/services/gateway/upgrade.test.ts',
      'reads the service no faster than a client that never reads',
    ],
    [
      'apps/runtime/src/services/gateway/upgrade.test.ts',
      'reads the client no faster than a service that never reads',
    ],
  ),
  'apps/runtime/src/services/images/tar-stream.ts': stream(
    'archives, unpacked',
    'parser.write(Buffer.from(chunk.buffer',
    [
      'apps/runtime/src/services/images/tar-stream.test.ts',
      'reads no more of an archive than the reader of its entry',
    ],
    [
      'apps/runtime/src/services/images/tar-stream.test.ts',
      'reads no more of a compressed archive than its reader',
    ],
  ),
  'apps/runtime/src/services/images/blobs.ts': stream(
    'layers on their way to the disk',
    'await pipeline(content, measure, file)',
    ['apps/runtime/src/services/images/blobs.test.ts', 'reads no more of the content than the disk writes'],
  ),
  'apps/runtime/src/api/mcm/receive-form.ts': stream('uploads of images', 'this.#request.pipe(parser)', [
    'apps/runtime/src/api/mcm/receive-image.test.ts',
    'reads no more of an upload than is stored, sent $sent',
  ]),
  'apps/runtime/src/services/engines/oci/engine-api.ts': stream(
    'images on their way to the engine',
    'pipeline(Readable.from(content), asked)',
    [
      'apps/runtime/src/services/engines/oci/engine-api.test.ts',
      'reads no more of an image than the engine does, and gives up',
    ],
  ),
  'apps/runtime/src/services/engines/function/control-line.ts': stream(
    'answers to a function',
    'socket.writableLength > maxUnread',
    [
      'tests/system/attacks/functions.test.ts',
      'has one question under way: a function that asks and never reads does not fill the runtime',
    ],
  ),
  'apps/identity/src/api/console/account-exports.ts': stream(
    'the audit log of an account, and exports of its devices',
    'Readable.from(content)',
    [neverRead, 'the audit log of an account'],
    [neverRead, 'an export of devices'],
  ),
  'apps/identity/src/api/console/discovery-stream.ts': stream(
    'all places of an account, and its events',
    'response.body.pipeTo(writable',
    [neverRead, 'all places of an account'],
  ),
  'packages/service-kit/src/log/line-writer.ts': stream('the log of a daemon', 'dropped', [
    'packages/service-kit/src/log/log.test.ts',
    'drops lines while a reader does not read, instead of storing them',
  ]),
  'packages/service-kit/src/http/early-response.ts': stream(
    'refusals before the body is complete: one text',
    'response.write(content',
    [
      'packages/service-kit/src/http/server.test.ts',
      'is sent at once, and the rest of the body is read for a bounded time only',
    ],
  ),
  'packages/service-kit/src/http/bounded-writer.ts': stream(
    'lines of a log that is followed',
    'bytes > maxBytes',
    [
      'tests/attacks/streams.test.ts',
      'of a log that is followed costs bounded memory, and later learns what it missed',
    ],
  ),
  'packages/service-kit/src/http-app/event-stream.ts': stream(
    'events of the console and of the discovery service',
    'raw.writableLength > maxWaiting',
    [neverRead, 'the events of the console'],
  ),
}
