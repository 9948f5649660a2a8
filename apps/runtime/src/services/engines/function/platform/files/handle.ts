/** `FileHandle` of `node:fs/promises`, with the methods that packages use. */
import { bufferOf } from '../sockets/node.ts'
import type { Operations } from './operations.ts'
import { createStreams } from './streams.ts'

type Call = (...given: unknown[]) => unknown

/** @returns `open` of `node:fs/promises` */
export function createHandles(operations: Operations): { open: Call } {
  const calls = operations as Readonly<Record<string, Call>>
  const streams = createStreams(operations)

  return {
    async open(...given) {
      const fd = calls.open!(...given) as number
      const method =
        (name: string): Call =>
        async (...rest) =>
          calls[name]!(handle.fd, ...rest)
      const handle = {
        fd,
        async close() {
          if (handle.fd !== -1) calls.close!(handle.fd)
          handle.fd = -1
        },
        async read(buffer: unknown = {}, ...rest: unknown[]) {
          const part = ArrayBuffer.isView(buffer) ? undefined : (buffer as { buffer?: unknown })
          const target = part === undefined ? buffer : (part.buffer ?? bufferOf(new Uint8Array(16_384)))
          const bytesRead = calls.read!(handle.fd, target, ...(part === undefined ? rest : [part]))
          return { bytesRead, buffer: target }
        },
        async write(buffer: unknown, ...rest: unknown[]) {
          return { bytesWritten: calls.write!(handle.fd, buffer, ...rest), buffer }
        },
        async readv(buffers: unknown, position: unknown) {
          return { bytesRead: calls.readv!(handle.fd, buffers, position), buffers }
        },
        async writev(buffers: unknown, position: unknown) {
          return { bytesWritten: calls.writev!(handle.fd, buffers, position), buffers }
        },
        readFile: method('readFile'),
        writeFile: method('writeFile'),
        appendFile: method('appendFile'),
        stat: method('fstat'),
        chmod: method('fchmod'),
        chown: method('fchown'),
        utimes: method('futimes'),
        truncate: method('ftruncate'),
        sync: method('fsync'),
        datasync: method('fdatasync'),
        createReadStream: (options?: object) => streams.createReadStream(null, { ...options, fd: handle.fd }),
        createWriteStream: (options?: object) =>
          streams.createWriteStream(null, { ...options, fd: handle.fd }),
      }
      return handle
    },
  }
}
