import { createLineSplitter } from '@selvedge/protocol/lines'
import { logLines } from '../../../../apps/runtime/src/services/engines/log-lines.ts'
import { createFrameReader } from '../../../../apps/runtime/src/services/engines/oci/log-frames.ts'
import type { Mutator } from '../engine/target.ts'
import { expectThat, type Target } from '../engine/target.ts'
import { inChunks } from './chunks.ts'

const frame = (stream: number, text: string, size = Buffer.byteLength(text)) => {
  const head = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0])
  head.writeUInt32BE(size, 4)
  return Buffer.concat([head, Buffer.from(text)])
}

/** Sets the size of a frame to one that is not there. */
const setSize: Mutator = (input, random) => {
  if (input.length < 8) return input
  const changed = Buffer.from(input)
  changed.writeUInt32BE(random.pick([0, 1, 7, 8, 0xffff, 0x7fffffff, 0xffffffff]), 4)
  return changed
}
const addFrames: Mutator = (input, random) =>
  Buffer.concat([
    input,
    ...Array<Buffer>(random.size(500)).fill(frame(random.below(4), random.oneIn(2) ? '' : 'a\n')),
  ])

/** Log frames of a container engine. */
export const ociLog: Target = {
  name: 'oci-log',
  covers: ['apps/runtime/src/services/engines/oci/log-frames.ts'],
  seeds: () => [
    Buffer.concat([
      frame(1, 'hello\n'),
      frame(2, 'error: \u00fc\n'),
      frame(1, 'half a '),
      frame(1, 'line\n'),
    ]),
    Buffer.concat(
      Array.from({ length: 60 }, (_, at) => frame(1 + (at % 2), `line ${at} ${'x'.repeat(150)}\n`)),
    ),
    frame(1, `${'y'.repeat(20_000)}\n`),
    frame(1, 'cut', 1000),
  ],
  mutators: [setSize, addFrames],
  words: ['\x01\x00\x00\x00\x00\x00\x00\x01a', '\n', '\r', '\x02\x00\x00\x00'],
  open: () => ({
    parse(input) {
      let lines = 0
      const split = createLineSplitter(logLines)
      const count = (found: readonly string[]) => {
        for (const text of found) {
          lines++
          expectThat(text.length <= 8192, `a line has ${text.length} characters`)
        }
      }
      const read = createFrameReader((_, bytes) => count(split(bytes.toString())))
      const calls = inChunks(input, (chunk) => read(Buffer.from(chunk)))
      count(split.end())
      return { outcome: `${Math.min(3, lines)} lines`, calls }
    },
  }),
  openStream: () => createFrameReader(() => undefined),
}
