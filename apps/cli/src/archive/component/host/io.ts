/** `wasi:io`: pollables and streams. What blocks returns a promise: the engine suspends the component until it settles. */
import { failed, IoError, Refusal, type StreamError, Trap } from './failure.ts'
import { type Session, waitForFirst } from './session.ts'

/** Bytes of a stream that wait to be read, and that one call reads. */
export const maxBufferedBytes = 65_536

/** Pollables that one call of `poll` may wait for. */
export const maxPolled = 1024

export class Pollable {
  readonly #session: Session
  readonly #isReady: () => boolean
  readonly #wait: () => Promise<unknown>

  /** @param wait resolves when `isReady` may have become true */
  constructor(session: Session, isReady: () => boolean, wait: () => Promise<unknown>) {
    this.#session = session
    this.#isReady = isReady
    this.#wait = wait
  }

  ready(): boolean {
    return this.#isReady()
  }

  async block(): Promise<void> {
    await poll([this])
  }

  /** @throws Trap for an empty list, and for too many */
  static async poll(list: readonly Pollable[]): Promise<Uint32Array> {
    const [first] = list
    if (first === undefined) throw new Trap('poll was called with an empty list')
    if (list.length > maxPolled) throw new Trap(`poll was called with more than ${maxPolled} pollables`)
    for (;;) {
      const ready = list.flatMap((each, at) => (each.#isReady() ? [at] : []))
      if (ready.length > 0) return Uint32Array.from(ready)
      await waitForFirst(
        first.#session,
        list.map((each) => each.#wait()),
      )
    }
  }
}

export const poll = (list: readonly Pollable[]): Promise<Uint32Array> => Pollable.poll(list)

/** Bytes of one read. @param length as the component gave it, of 64 bits */
const limited = (length: bigint): number =>
  Number(length > maxBufferedBytes ? BigInt(maxBufferedBytes) : length)

export class InputStream {
  readonly #session: Session
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #chunk: Uint8Array = new Uint8Array()
  #end: StreamError | undefined
  #reading: Promise<void> | undefined

  /** @param source null for an empty stream */
  constructor(session: Session, source: ReadableStream<Uint8Array> | null) {
    this.#session = session
    this.#reader = source?.getReader()
    if (!source) this.#end = { tag: 'closed' }
  }

  /** @throws Refusal when the stream is at its end, or failed */
  read(length: bigint): Uint8Array {
    if (length === 0n) return new Uint8Array()
    if (this.#chunk.length === 0) {
      if (this.#end) throw new Refusal(this.#end)
      void this.#fill()
      return new Uint8Array()
    }
    const read = this.#chunk.slice(0, limited(length))
    this.#chunk = this.#chunk.subarray(read.length)
    return read
  }

  async blockingRead(length: bigint): Promise<Uint8Array> {
    if (length > 0n) await this.subscribe().block()
    return this.read(length)
  }

  skip(length: bigint): bigint {
    return BigInt(this.read(length).length)
  }

  async blockingSkip(length: bigint): Promise<bigint> {
    return BigInt((await this.blockingRead(length)).length)
  }

  subscribe(): Pollable {
    return new Pollable(
      this.#session,
      () => this.#chunk.length > 0 || this.#end !== undefined,
      () => this.#fill(),
    )
  }

  /** The component does not read any further: its sender need not go on. */
  [Symbol.dispose](): void {
    this.#end ??= { tag: 'closed' }
    this.#reader?.cancel().catch(() => undefined)
  }

  #fill(): Promise<void> {
    this.#reading ??= this.#readChunk().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readChunk(): Promise<void> {
    try {
      const { done, value } = await this.#reader!.read()
      if (done) this.#end ??= { tag: 'closed' }
      else this.#chunk = value
    } catch (cause) {
      this.#end ??= { tag: 'last-operation-failed', val: new IoError(cause) }
    }
  }
}

/** Where an output stream leads. */
export interface Sink {
  /** Bytes that it accepts now. */
  capacity(): number
  /** @throws what the stream fails with */
  write(bytes: Uint8Array): void
  /** Resolves when the capacity may have grown. */
  whenCapacity(): Promise<unknown>
  /** Resolves when everything was read. */
  whenFlushed(): Promise<unknown>
  isFlushed(): boolean
  /** Why it accepts nothing any more; undefined while it does. */
  end(): StreamError | undefined
}

export class OutputStream {
  readonly #session: Session
  readonly #sink: Sink

  constructor(session: Session, sink: Sink) {
    this.#session = session
    this.#sink = sink
  }

  checkWrite(): bigint {
    this.#checkOpen()
    return BigInt(this.#sink.capacity())
  }

  /** @throws Trap for more bytes than `check-write` allowed */
  write(bytes: Uint8Array): void {
    this.#checkOpen()
    if (bytes.length > this.#sink.capacity())
      throw new Trap(`write was called with ${bytes.length} bytes, more than check-write allowed`)
    if (bytes.length === 0) return
    try {
      // A copy: the bytes may be a view of the memory of the component.
      this.#sink.write(bytes.slice())
    } catch (cause) {
      throw failed(cause)
    }
  }

  /** Writes all of it, in pieces: toolchains write more than the 4,096 bytes that the interface allows. */
  async blockingWriteAndFlush(bytes: Uint8Array): Promise<void> {
    const own = bytes.slice()
    for (let at = 0; at < own.length; ) {
      await this.subscribe().block()
      this.#checkOpen()
      const piece = own.subarray(at, at + this.#sink.capacity())
      this.write(piece)
      at += piece.length
    }
    await this.blockingFlush()
  }

  flush(): void {
    this.#checkOpen()
  }

  /** Waits until the other side has read everything: a component that is faster than its reader waits for it. */
  async blockingFlush(): Promise<void> {
    this.#checkOpen()
    while (!this.#sink.isFlushed() && !this.#sink.end())
      await waitForFirst(this.#session, [this.#sink.whenFlushed()])
    this.#checkOpen()
  }

  writeZeroes(length: bigint): void {
    if (length > BigInt(this.#sink.capacity()))
      throw new Trap(`write-zeroes was called with ${length} bytes, more than check-write allowed`)
    this.write(new Uint8Array(Number(length)))
  }

  async blockingWriteZeroesAndFlush(length: bigint): Promise<void> {
    if (length > maxBufferedBytes)
      throw new Trap(`blocking-write-zeroes-and-flush was called with ${length} bytes`)
    await this.blockingWriteAndFlush(new Uint8Array(Number(length)))
  }

  splice(source: InputStream, length: bigint): bigint {
    const free = this.checkWrite()
    const bytes = source.read(length < free ? length : free)
    this.write(bytes)
    return BigInt(bytes.length)
  }

  async blockingSplice(source: InputStream, length: bigint): Promise<bigint> {
    await this.subscribe().block()
    if (length > 0n) await source.subscribe().block()
    return this.splice(source, length)
  }

  subscribe(): Pollable {
    return new Pollable(
      this.#session,
      () => this.#sink.capacity() > 0 || this.#sink.end() !== undefined,
      () => this.#sink.whenCapacity(),
    )
  }

  #checkOpen(): void {
    const end = this.#sink.end()
    if (end) throw new Refusal(end)
  }
}
