import { createHash } from 'node:crypto'
import { zstdCompressSync } from 'node:zlib'
import { RpcError } from '@selvedge/protocol'
import { unpacked } from '../../../../apps/runtime/src/services/images/tar-stream.ts'
import { isZstd } from '../../../../apps/runtime/src/services/images/zstd-frames.ts'
import { expectThat, outcomeOfLater, type Target } from '../engine/target.ts'

const skippable = (bytes: number) => {
  const frame = Buffer.alloc(8 + bytes)
  frame.writeUInt32LE(0x184d2a50)
  frame.writeUInt32LE(bytes, 4)
  return frame
}
const maxUnpacked = 4 * 1024 * 1024
const text = Buffer.from('the quick brown fox '.repeat(500))

async function* pieces(content: Buffer, size: number) {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

/** Streams of several frames, as they arrive. */
export const zstdFrames: Target = {
  name: 'zstd-frames',
  covers: ['apps/runtime/src/services/images/zstd-frames.ts'],
  seeds: () => [
    zstdCompressSync(text),
    Buffer.concat([zstdCompressSync(text), skippable(20), zstdCompressSync('end')]),
    Buffer.concat([skippable(0), zstdCompressSync(Buffer.alloc(100_000)), skippable(5000)]),
  ],
  words: ['\x28\xb5\x2f\xfd', '\x50\x2a\x4d\x18', '\0\0\0\0', '\x01\0\0', '\xff\xff\xff\xff'],
  open: () => ({
    async parse(input) {
      // What is not zstd at its beginning passes as it is: the targets `layer` and `archive` have that.
      if (input.length < 4 || !isZstd(input)) return 'not zstd'
      let work = 0
      async function unpack(size: number) {
        const hash = createHash('sha256')
        let bytes = 0
        const outcome = await outcomeOfLater(async () => {
          for await (const chunk of unpacked(pieces(input, size), () => undefined)) {
            hash.update(chunk)
            bytes += chunk.length
            if (bytes > maxUnpacked) throw new RpcError('limit_exceeded', 'it is too large')
          }
          return hash.digest('hex')
        }, [RpcError])
        work += bytes
        return outcome
      }
      const whole = await unpack(input.length)
      const inPieces = await unpack(100)
      expectThat(whole === inPieces, 'the pieces in which it arrives change what it is')
      return {
        outcome: /^[0-9a-f]{64}/.test(whole) ? 'unpacked' : whole,
        work: work + 2 * input.length,
        calls: Math.ceil(input.length / 100),
      }
    },
  }),
}
