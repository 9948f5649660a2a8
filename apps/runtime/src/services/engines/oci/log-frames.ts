/** Splits the log stream of the Docker Engine API into lines: frames of `[stream, 0, 0, 0, size (4 bytes)]` and text. */
import { StringDecoder } from 'node:string_decoder'
import type { LogStream } from '../engine.ts'
import { createLineReader } from '../log-lines.ts'

const maxLine = 8192
const headerSize = 8

/** Text is passed on as it comes: a frame that claims to be large uses no memory. */
export function createFrameReader(log: (stream: LogStream, text: string) => void): (chunk: Buffer) => void {
  const readers = (['stdout', 'stderr'] as const).map((stream) => {
    const decoder = new StringDecoder('utf8')
    const read = createLineReader((line) => log(stream, line.slice(0, maxLine)), maxLine)
    return (bytes: Buffer) => read(decoder.write(bytes))
  })
  const header = Buffer.alloc(headerSize)
  let headerBytes = 0
  let left = 0
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (left === 0) {
        const taken = chunk.copy(header, headerBytes, at, at + headerSize - headerBytes)
        at += taken
        headerBytes += taken
        if (headerBytes < headerSize) return
        headerBytes = 0
        left = header.readUInt32BE(4)
        continue
      }
      const text = chunk.subarray(at, at + left)
      readers[header[0] === 2 ? 1 : 0]!(text)
      left -= text.length
      at += text.length
    }
  }
}
