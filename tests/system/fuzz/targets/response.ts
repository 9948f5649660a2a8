import { isDeepStrictEqual } from 'node:util'
import { createResponseReader } from '../../../../apps/runtime/src/services/gateway/response-reader.ts'
import { expectThat, type Target } from '../engine/target.ts'
import { inChunks } from './chunks.ts'

const head = (...lines: string[]) => `HTTP/1.1 200 OK\r\n${lines.map((each) => `${each}\r\n`).join('')}\r\n`
const seeds = [
  `${head('Content-Length: 5', 'Content-Type: text/plain')}hello`,
  `${head('Transfer-Encoding: chunked')}5;x=y\r\nhello\r\n3\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n`,
  `${head('Connection: close')}until the end`,
  `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${head('Content-Length: 0')}`,
  'HTTP/1.0 304 Not Modified\r\nETag: "x"\r\n\r\n',
  `${head(...Array.from({ length: 300 }, (_, at) => `X-Header-${at}: a value of this header`), 'Content-Length: 6000')}${'body '.repeat(1200)}`,
  `${head('Transfer-Encoding: chunked')}${'400\r\n'.concat('x'.repeat(1024), '\r\n').repeat(12)}0\r\n\r\n`,
]

interface Read {
  heads: unknown[]
  body: string
  ends: unknown[]
}

function read(feed: (reader: ReturnType<typeof createResponseReader>) => void, hasNoBody: boolean): Read {
  const seen: Read = { heads: [], body: '', ends: [] }
  const parts: Buffer[] = []
  let isOver = false
  const expectOpen = () => expectThat(!isOver, 'an event follows the end of the answer')
  const reader = createResponseReader(hasNoBody, {
    onHead: (each) => {
      expectOpen()
      expectThat(seen.heads.length === 0, 'a second head')
      seen.heads.push(each)
    },
    onBody: (part) => {
      expectOpen()
      parts.push(Buffer.from(part))
    },
    onEnd: (reusable) => {
      expectOpen()
      isOver = true
      seen.ends.push(reusable)
    },
    onUnanswered: () => {
      expectOpen()
      isOver = true
      seen.ends.push('unanswered')
    },
    onBroken: (why) => {
      expectOpen()
      isOver = true
      seen.ends.push(why)
    },
  })
  feed(reader)
  if (!isOver) reader.end()
  expectThat(seen.ends.length === 1, `it ended ${seen.ends.length} times`)
  seen.body = Buffer.concat(parts).toString('latin1')
  return seen
}

/** Answers of services, as the gateway reads them: in one piece or in many, it understands the same. */
export const response: Target = {
  name: 'response',
  covers: ['apps/runtime/src/services/gateway/response-reader.ts'],
  seeds: () => seeds.map((each) => Buffer.from(each, 'latin1')),
  words: [
    '\r\n',
    '\r\n\r\n',
    '0\r\n\r\n',
    'Content-Length: ',
    'Transfer-Encoding: ',
    'chunked',
    ';',
    ' ',
    '\t',
    'HTTP/1.1 ',
  ],
  open: () => ({
    parse(input) {
      const hasNoBody = input.length % 16 === 15
      let calls = 1
      const pieces = read((reader) => {
        calls = inChunks(input, (chunk) => reader.read(Buffer.from(chunk)))
      }, hasNoBody)
      if (calls > 1) {
        const whole = read((reader) => reader.read(input), hasNoBody)
        const isSame = isDeepStrictEqual({ ...whole, ends: [] }, { ...pieces, ends: [] })
        const isBroken = [...whole.ends, ...pieces.ends].some((each) => typeof each === 'string')
        expectThat(isSame || isBroken, 'in pieces it is another answer')
      }
      return { outcome: String(pieces.ends[0]), calls }
    },
  }),
  openStream: () => {
    const reader = createResponseReader(false, {
      onHead: () => undefined,
      onBody: () => undefined,
      onEnd: () => undefined,
      onUnanswered: () => undefined,
      onBroken: () => undefined,
    })
    return (chunk) => reader.read(chunk)
  },
}
