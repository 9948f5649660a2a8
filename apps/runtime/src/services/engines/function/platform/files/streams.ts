/** `createReadStream` and `createWriteStream`. Constructors without `class`: packages call them as functions. */
import { type NodeStream, nodeModule } from '../sockets/node.ts'
import { optionsOf, pathOf, positionOf } from './arguments.ts'
import type { Operations } from './operations.ts'

interface StreamOptions {
  readonly fd?: number | { readonly fd: number } | null
  readonly start?: number
  readonly end?: number
  readonly autoClose?: boolean
  readonly flags?: string
  readonly mode?: number
}

interface FileStream extends NodeStream {
  fd: number | null
  path: unknown
  flags: string
  pending: boolean
  position: number | null
  bytesRead: number
  bytesWritten: number
}

type Done = (cause?: Error | null, count?: number) => void
type Constructor = { (this: unknown, options: object): void; readonly prototype: object }
type Call = (...given: unknown[]) => unknown
type Calls = Readonly<Record<string, Call>>

interface FileStreams {
  readonly ReadStream: Call
  readonly WriteStream: Call
  readonly createReadStream: Call
  readonly createWriteStream: Call
}

export function createStreams(operations: Operations): FileStreams {
  const { Readable, Writable } = nodeModule<{ Readable: Constructor; Writable: Constructor }>('node:stream')
  const ReadStream = createReads(Readable, operations as Calls)
  const WriteStream = createWrites(Writable, operations as Calls)
  return {
    ReadStream,
    WriteStream,
    createReadStream: (path, options) => Reflect.construct(ReadStream, [path, options]),
    createWriteStream: (path, options) => Reflect.construct(WriteStream, [path, options]),
  }
}

function attempt(done: Done, use: () => unknown): void {
  let count: number
  try {
    count = use() as number
  } catch (cause) {
    done(cause as Error)
    return
  }
  done(null, count)
}

/** The members that packages read, and that both kinds use. */
function prepare(stream: FileStream, path: unknown, options: StreamOptions, usualFlags: string): void {
  const { fd, start, flags = usualFlags } = options
  const given = (typeof fd === 'object' && fd !== null ? fd.fd : fd) ?? null
  if (given === null) pathOf(path, 'open')
  const position = positionOf(start)
  Object.assign(stream, {
    path,
    fd: given,
    pending: given === null,
    position,
    bytesRead: 0,
    bytesWritten: 0,
    flags,
  })
}

/** How both kinds open and close their file. */
function sharedOptions({ open, close }: Calls, given: unknown): object {
  const options = optionsOf(given) as StreamOptions
  return {
    ...options,
    construct(this: FileStream, done: Done) {
      if (this.fd !== null) {
        done()
        return
      }
      attempt(done, () => {
        this.fd = open!(this.path, this.flags, options.mode) as number
        this.pending = false
        this.emit('open', this.fd)
        this.emit('ready')
      })
    },
    destroy(this: FileStream, cause: Error | null, done: Done) {
      const { fd } = this
      this.fd = null
      if (fd === null || options.autoClose === false) done(cause)
      else
        attempt(
          (failed) => done(cause ?? failed),
          () => close!(fd),
        )
    },
  }
}

function createReads(Readable: Constructor, calls: Calls): Call {
  function ReadStream(this: unknown, path: unknown, given?: unknown): unknown {
    if (!(this instanceof ReadStream)) return Reflect.construct(ReadStream, [path, given])
    const options = optionsOf(given) as StreamOptions
    const end = positionOf(options.end) ?? Number.POSITIVE_INFINITY
    const stream = this as unknown as FileStream
    let at = options.start ?? 0
    const read = (size: number) => {
      const buffer = new Uint8Array(Math.max(0, Math.min(size, end - at + 1)))
      const push: Done = (cause, count = 0) => {
        at += count
        stream.bytesRead += count
        if (cause) stream.destroy(cause)
        else stream.push(count === 0 ? null : buffer.subarray(0, count))
      }
      attempt(push, () =>
        calls.read!(stream.fd, buffer, 0, buffer.length, options.start === undefined ? null : at),
      )
    }
    Readable.call(this, { highWaterMark: 65_536, ...sharedOptions(calls, given), read })
    prepare(stream, path, options, 'r')
    return undefined
  }
  Object.setPrototypeOf(ReadStream.prototype, Readable.prototype)
  return ReadStream
}

function createWrites(Writable: Constructor, calls: Calls): Call {
  function WriteStream(this: unknown, path: unknown, given?: unknown): unknown {
    if (!(this instanceof WriteStream)) return Reflect.construct(WriteStream, [path, given])
    const stream = this as unknown as FileStream
    const write = (chunk: Uint8Array, _encoding: string, done: Done) => {
      const note: Done = (cause, count = 0) => {
        stream.bytesWritten += count
        if (stream.position !== null) stream.position += count
        done(cause)
      }
      attempt(note, () => calls.write!(stream.fd, chunk, 0, chunk.length, stream.position))
    }
    Writable.call(this, { ...sharedOptions(calls, given), decodeStrings: true, write })
    prepare(stream, path, optionsOf(given) as StreamOptions, 'w')
    return undefined
  }
  Object.setPrototypeOf(WriteStream.prototype, Writable.prototype)
  return WriteStream
}
