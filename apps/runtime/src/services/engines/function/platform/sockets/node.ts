/** As much of the modules of Node.js, as Deno has them, as the sockets of functions use. */

export interface NodeStream {
  destroyed: boolean
  readonly readableLength: number
  readonly readableHighWaterMark: number
  readonly writableLength: number
  readonly writableEnded: boolean
  on(name: string, listener: (...given: never[]) => void): this
  once(name: string, listener: (...given: never[]) => void): this
  off(name: string, listener: (...given: never[]) => void): this
  emit(name: string, ...given: unknown[]): boolean
  push(chunk: Uint8Array | null): boolean
  read(size?: number): unknown
  write(chunk: Uint8Array, done?: (cause?: Error | null) => void): boolean
  end(done?: () => void): this
  pause(): this
  resume(): this
  isPaused(): boolean
  destroy(cause?: Error): this
}

type Done = (cause?: Error | null) => void

/** One call of `writev` has a list of them. */
interface Piece {
  readonly chunk: string | Uint8Array
  readonly encoding: string
}

export type Written = string | Uint8Array | readonly Piece[]

export interface ConnectOptions {
  readonly host?: string
  readonly port?: number | string
  readonly path?: string
  readonly lookup?: unknown
  readonly family?: number
  readonly hints?: number
  readonly keepAlive?: boolean
  readonly noDelay?: boolean
  readonly onread?: { readonly buffer: unknown; readonly callback: unknown } | null
}

/** A `net.Socket`, with the members with which its class is made. */
export interface NodeSocket extends NodeStream {
  connecting: boolean
  readonly encrypted?: boolean
  _handle: unknown
  _peername: unknown
  _unrefTimer(): void
  _undestroy(): void
  _read(size: number): void
  _writeGeneric(isList: boolean, data: Written, encoding: string, done: Done): void
  _final(done: Done): void
  connect(...given: unknown[]): this
  setTimeout(ms: number, listener?: () => void): this
}

/** A `tls.TLSSocket`. */
export interface NodeSecureSocket extends NodeSocket {
  _init(socket: NodeStream | undefined, wrap: { readonly stream?: NodeSocket } | null): void
  _emitTLSError(cause: Error): void
}

export interface NodeNet {
  readonly Socket: { new (options?: object): NodeSocket; readonly prototype: NodeSocket }
  connect(options: ConnectOptions & { readonly allowHalfOpen?: boolean }): NodeSocket
  isIP(text: string): number
  _normalizeArgs(given: readonly unknown[]): readonly [ConnectOptions, (() => void) | null]
}

export interface NodeTls {
  readonly TLSSocket: { readonly prototype: NodeSecureSocket }
  connect(options: object): NodeSecureSocket
}

interface NodeProcess {
  getBuiltinModule(id: string): unknown
  nextTick(task: () => void): void
}

/** Of the platform, from before the function was loaded. */
export const nodeProcess = (globalThis as unknown as { process: NodeProcess }).process
const getModule = nodeProcess.getBuiltinModule
export const { nextTick } = nodeProcess

const { setImmediate } = globalThis as unknown as { setImmediate(task: () => void): unknown }
/** Calls it after what is ready now: timers and other events are not held up. */
export const afterEvents = (task: () => void): void => void setImmediate(task)

/** A module of Node.js. It is loaded when it is needed: that is a good part of the start of a function. */
export const nodeModule = <T>(id: string): T => getModule.call(nodeProcess, id) as T

interface BytesModule {
  readonly Buffer: {
    from(data: string, encoding: string): Uint8Array
    from(data: ArrayBufferLike, offset: number, length: number): Uint8Array
  }
}

const buffers = () => nodeModule<BytesModule>('node:buffer').Buffer

/** The bytes as a `Buffer`, which readers of sockets expect. */
export const bufferOf = (bytes: Uint8Array): Uint8Array =>
  buffers().from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** What a socket writes, as bytes. */
export const bytesOf = (data: string | Uint8Array, encoding: string): Uint8Array =>
  typeof data === 'string' ? buffers().from(data, encoding) : data
