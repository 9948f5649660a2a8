import { describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../../../tests/harness/cpu.ts'
import { fc } from '../../../../../../tests/harness/properties.ts'
import { createFrameReader, encodeFrame, type Frame } from './frames.ts'

const kind = fc.constantFrom<Frame['kind']>('message', 'bytes', 'source')
const frame = fc.record({ kind, payload: fc.uint8Array({ maxLength: 300 }) })

describe('the frames of the control line', () => {
  it('arrive as they were sent, however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }),
        (sent, cuts) => {
          const stream = Buffer.concat(sent.map((each) => encodeFrame(each.kind, each.payload)))
          const read = createFrameReader(300)
          const received: Frame[] = []
          for (let at = 0, turn = 0; at < stream.length; turn++) {
            const size = cuts[turn % cuts.length]!
            received.push(...read(stream.subarray(at, at + size)))
            at += size
          }
          expect(received).toEqual(sent)
        },
      ),
    )
  })

  it('never throw anything but a protocol error, and never hold more than the limit', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 20 }), (chunks) => {
        const read = createFrameReader(40)
        try {
          for (const chunk of chunks)
            for (const { payload } of read(chunk)) expect(payload.length).toBeLessThanOrEqual(40)
        } catch (cause) {
          expect(cause).toMatchObject({ name: 'ProtocolError' })
        }
      }),
    )
  })

  it('are refused by their length alone, before their payload arrives', () => {
    const header = encodeFrame('message', new Uint8Array(3 << 20)).subarray(0, 5)
    expect(() => createFrameReader(256 * 1024)(header)).toThrow(
      'a frame of 3145728 bytes; the limit is 262144',
    )
  })

  it('cost the same for each byte, also in pieces of one byte', async () => {
    const readBytes = (stream: Uint8Array) => {
      const read = createFrameReader(256 * 1024)
      for (let at = 0; at < stream.length; at++) read(stream.subarray(at, at + 1))
    }
    const streamOf = (size: number) => encodeFrame('bytes', new Uint8Array(size))
    expect(await growthOf(15_000, streamOf, readBytes)).toBeLessThan(linear)
  })
})
