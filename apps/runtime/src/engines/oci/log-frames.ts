/** Splits the log stream of the Docker Engine API into lines: frames of `[stream, 0, 0, 0, size (4 bytes)]` and text. */
import { StringDecoder } from 'node:string_decoder'
import type { LogStream } from '../engine.ts'
import { createLineReader } from '../function/control.ts'

const maxLine = 8192

export function createFrameReader(log: (stream: LogStream, text: string) => void): (chunk: Buffer) => void {
  const readers = (['stdout', 'stderr'] as const).map((stream) => {
    const decoder = new StringDecoder('utf8')
    const read = createLineReader((line) => log(stream, line.slice(0, maxLine)), maxLine)
    return (bytes: Buffer) => read(decoder.write(bytes))
  })
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= 8) {
      const size = rest.readUInt32BE(4)
      if (rest.length < 8 + size) return
      readers[rest[0] === 2 ? 1 : 0]!(rest.subarray(8, 8 + size))
      rest = rest.subarray(8 + size)
    }
  }
}
