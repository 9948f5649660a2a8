import { parseMessage } from '../../../../apps/runtime/src/services/engines/function/control-message.ts'
import {
  createFrameReader,
  encodeFrame,
  maxPayload,
  ProtocolError,
} from '../../../../apps/runtime/src/services/engines/function/frames.ts'
import type { Mutator } from '../engine/target.ts'
import { expectThat, type Target } from '../engine/target.ts'
import { inChunks } from './chunks.ts'

const message = (value: unknown) => Buffer.from(encodeFrame('message', Buffer.from(JSON.stringify(value))))

/** Sets the length or the kind of a frame to one that is not there. */
const setHeader: Mutator = (input, random) => {
  if (input.length < 5) return input
  const changed = Buffer.from(input)
  if (random.oneIn(2)) changed[4] = random.below(256)
  else changed.writeUInt32BE(random.pick([0, 1, 5, maxPayload, maxPayload + 1, 0x7fffffff, 0xffffffff]), 0)
  return changed
}
const addFrames: Mutator = (input, random) =>
  Buffer.concat([input, ...Array<Buffer>(random.size(200)).fill(message({ pong: random.below(4) }))])

/** The control line of a function: frames, and the messages in them. */
export const controlLine: Target = {
  name: 'control-line',
  covers: [
    'apps/runtime/src/services/engines/function/frames.ts',
    'apps/runtime/src/services/engines/function/control-message.ts',
  ],
  seeds: () => [
    Buffer.concat([message({ listening: true }), message({ ready: true }), message({ pong: 1 })]),
    message({
      set: [
        ['key', 'value'],
        ['__proto__', ''],
      ],
      ask: 1,
    }),
    message({ set: Array.from({ length: 900 }, (_, at) => [`key ${at}`, 'value']), ask: 2 }),
    message({ remove: ['key', 'key'], ask: 3 }),
    Buffer.concat([
      Buffer.from(encodeFrame('bytes', Buffer.alloc(2000, 'x'))),
      message({ setLong: 'key', ask: 4 }),
    ]),
    message({ identify: 'client-service', ask: 5 }),
    message({ broken: 'it did not load' }),
  ],
  mutators: [setHeader, addFrames],
  words: ['"ask":1', '[[', '{"set":', '\0\0\0\x02\0{}', '\\u0000', '"__proto__"'],
  open: () => ({
    parse(input) {
      const read = createFrameReader(maxPayload)
      let messages = 0
      let outcome = 'valid'
      const calls = inChunks(input, (chunk) => {
        if (outcome !== 'valid') return
        try {
          for (const { kind, payload } of read(chunk)) {
            expectThat(payload.length <= maxPayload, `a payload has ${payload.length} bytes`)
            if (kind === 'message') parseMessage(payload)
            messages++
          }
        } catch (cause) {
          if (!(cause instanceof ProtocolError)) throw cause
          outcome = cause.message.replaceAll(/[(\d].*/g, '')
        }
      })
      // Each frame is handled in a turn of its own.
      return { outcome: `${outcome}, ${Math.min(3, messages)} frames`, calls: calls + messages }
    },
  }),
}
