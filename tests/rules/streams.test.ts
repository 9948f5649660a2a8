/**
 * Every stream of a daemon waits for its reader, or is bounded: the table lists the files that write to one, with the code that
 * bounds what waits, and the test that opens it with a reader that never reads.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../harness/processes.ts'
import { childOf, methodOf, nameOf, plain } from './bounds/bindings.ts'
import { nodesOf, parseSource, placeOf, readSources, type Source } from './sources.ts'

interface Stream {
  readonly what: string
  /** Code of the file that makes the writer wait, or limits what waits. */
  readonly bound: string
  /** File and title of the test. */
  readonly test: readonly [file: string, title: string]
}

/** Opens every stream that a daemon sends with readers that never read, one row each. */
const neverRead = 'tests/attacks/never-read.test.ts'
const streams: Readonly<Record<string, Stream>> = {
  'apps/runtime/src/gateway/proxy.ts': {
    what: 'requests to services and their answers',
    bound: 'isPaused',
    test: [neverRead, 'the answer of a service'],
  },
  'apps/runtime/src/gateway/egress.ts': {
    what: 'calls of a function to the outside, and their answers',
    bound: 'incoming.pipe(response)',
    test: [neverRead, 'the answer of another host, asked by a function'],
  },
  'apps/runtime/src/gateway/upgrade.ts': {
    what: 'WebSockets of services',
    bound: 'upstream.pipe(socket)',
    test: [neverRead, 'a WebSocket of a service'],
  },
  'apps/runtime/src/images/tar-stream.ts': {
    what: 'archives, unpacked',
    bound: 'parser.write(Buffer.from(chunk))',
    test: [
      'tests/services/images.test.ts',
      'keeps its reserve: a deployment that would break into it is refused before it begins',
    ],
  },
  'apps/runtime/src/images/blobs.ts': {
    what: 'layers on their way to the disk',
    bound: 'await pipeline(content, measure, file)',
    test: [
      'apps/runtime/src/images/blobs.test.ts',
      'refuses content that is cut short, and content that is missing',
    ],
  },
  'apps/runtime/src/mcm/receive-image.ts': {
    what: 'uploads of images',
    bound: 'request.pipe(parser)',
    test: ['tests/attacks/bodies.test.ts', 'a request whose body never comes to its end'],
  },
  'apps/runtime/src/engines/oci/engine-api.ts': {
    what: 'images on their way to the engine',
    bound: 'pipeline(Readable.from(content), asked)',
    test: ['tests/attacks/oci.test.ts', 'a hostile OCI image'],
  },
  'apps/runtime/src/engines/function/control-line.ts': {
    what: 'answers to a function',
    bound: 'socket.writableLength > maxUnread',
    test: [
      'tests/attacks/functions.test.ts',
      'has one question under way: a function that asks and never reads does not fill the runtime',
    ],
  },
  'apps/identity/src/console/api.ts': {
    what: 'the audit log and all places of an account',
    bound: 'Readable.from(pages(',
    test: [neverRead, 'the audit log of an account'],
  },
  'apps/identity/src/console/discovery-stream.ts': {
    what: 'all places of an account, and its events',
    bound: 'response.body.pipeTo(writable',
    test: [neverRead, 'all places of an account'],
  },
  'packages/service-kit/src/log/line-writer.ts': {
    what: 'the log of a daemon',
    bound: 'dropped',
    test: [
      'packages/service-kit/src/log/log.test.ts',
      'drops lines while a reader does not read, instead of storing them',
    ],
  },
  'packages/service-kit/src/http/early-response.ts': {
    what: 'refusals before the body is complete: one text',
    bound: 'response.write(content',
    test: ['tests/attacks/bodies.test.ts', 'is answered as soon as its body is larger than the limit'],
  },
  'packages/service-kit/src/http/bounded-writer.ts': {
    what: 'lines of a log that is followed',
    bound: 'bytes > maxBytes',
    test: [neverRead, 'a log that is followed'],
  },
  'packages/service-kit/src/http-app/event-stream.ts': {
    what: 'events of the console and of the discovery service',
    bound: 'raw.writableLength > maxWaiting',
    test: [neverRead, 'the events of the console'],
  },
}

/** What is written to is no stream: memory, a file of the state, the terminal at the start, a cookie. */
const noStreams = new Set([
  'decoder',
  'inner',
  'outer',
  'head',
  'handle',
  'stdout',
  'stderr',
  'cookie',
  'nodes',
  'storage',
])

/** Lines that write to a stream or connect two. */
function writesOf(source: Source): string[] {
  return [...nodesOf(source.program)].flatMap(({ node }) => {
    if (node.type !== 'CallExpression') return []
    const callee = plain(childOf(node, 'callee')!)
    const method = methodOf(node)
    const object = callee.type === 'MemberExpression' ? plain(childOf(callee, 'object')!) : undefined
    const name = nameOf(object?.type === 'MemberExpression' ? childOf(object, 'property') : object)
    const isWrite =
      (/^(?:write|pipe|pipeTo)$/.test(method) && object !== undefined && !noStreams.has(name)) ||
      method === 'pipeline' ||
      (/^from(?:Web)?$/.test(method) && name === 'Readable')
    return isWrite ? [placeOf(source, node)] : []
  })
}

const daemons = ['apps/runtime', 'apps/identity', 'apps/discovery', 'apps/stack', 'packages/service-kit']
const sources = readSources(...daemons).filter(
  ({ path }) => !/\/testing\/|\/engines\/function\/platform\//.test(path),
)

describe('streams', () => {
  it('are listed with what bounds them', () => {
    const found = sources.filter(({ path }) => !streams[path]).flatMap(writesOf)
    expect(
      found.map((place) => `${place} writes to a stream: add its file to tests/rules/streams.test.ts`),
    ).toEqual([])
  })

  it.each(Object.entries(streams))('%s has its bound and its test', (path, { bound, test }) => {
    const source = sources.find((each) => each.path === path)
    expect(source && writesOf(source)).not.toEqual([])
    expect(source?.text.includes(bound), `${path} has no ${bound} any more`).toBe(true)
    const [file, title] = test
    expect(readFileSync(join(root, file), 'utf8'), `${file} has no such test any more`).toContain(
      `'${title}'`,
    )
  })

  it.each([
    ['socket.write(chunk)'],
    ['upstream.pipe(response)'],
    ['await pipeline(body, response)'],
    ['reply.send(Readable.from(rows))'],
    ['answer.body.pipeTo(writable)'],
  ])('finds %s', (code) => {
    expect(writesOf(parseSource('example.ts', code))).not.toEqual([])
  })
})
