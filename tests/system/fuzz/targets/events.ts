import { isDeepStrictEqual } from 'node:util'
import { accountFixes } from '@selvedge/protocol'
import {
  createEventReader,
  EventStreamError,
} from '../../../../apps/identity/src/api/console/discovery-stream.ts'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'
import { inChunks } from './chunks.ts'

const fix = (nodeId: string) =>
  `data: ${JSON.stringify({ nodeId, longitude: 13.4, latitude: 52.5, speed: 0, bearing: 0, fixedAt: '2026-01-01T00:00:00Z' })}\n\n`

/** Reads a stream in pieces. @returns its events, and the reason for its end */
function read(feed: (take: (piece: Buffer) => void) => void): { events: unknown[]; end: string } {
  const events: unknown[] = []
  const reader = createEventReader((json) => events.push(json))
  const decoder = new TextDecoder()
  const end = outcomeOf(
    () => feed((piece) => reader(decoder.decode(piece, { stream: true }))),
    [EventStreamError],
  )
  return { events, end }
}

/** Events of the discovery service, as the console's service follows them: in one piece or in many, they are the same. */
export const events: Target = {
  name: 'events',
  covers: ['apps/identity/src/api/console/discovery-stream.ts'],
  seeds: () =>
    [
      fix('a'.repeat(56)),
      `: keep-alive\n\n${fix('b')}event: end\ndata: {"reason":"token_expired"}\n\n`,
      Array.from({ length: 60 }, (_, at) => fix(`node ${at}`)).join(''),
      'data: null\ndata: []\n',
    ].map((each) => Buffer.from(each)),
  words: ['data: ', '\n\n', '\n', ': ', 'event: end\n', '\r\n', '\u2028', '\ufeff', '{"nodeId":', '1e999'],
  open: () => ({
    parse(input) {
      let calls = 1
      const pieces = read((take) => {
        calls = inChunks(input, take)
      })
      if (calls > 1) {
        const whole = read((take) => take(input))
        expectThat(isDeepStrictEqual(whole, pieces), 'in pieces they are other events')
      }
      const fixes = pieces.events.filter((each) => accountFixes.element.safeParse(each).success)
      return { outcome: `${pieces.end}, ${Math.min(3, fixes.length)} fixes`, calls }
    },
  }),
  openStream: () => {
    const decoder = new TextDecoder()
    const reader = createEventReader(() => undefined)
    return (chunk) => outcomeOf(() => reader(decoder.decode(chunk, { stream: true })), [EventStreamError])
  },
}
