/** Large messages are limited from their first bytes until they are answered: they are in memory, and need no credential. */
export interface LargeMessages<Connection> {
  /** @returns false: there are too many already */
  reserve(by: Connection): boolean
  release(): void
}

/** @param makeRoom ends what holds one without need, for another connection. @returns whether there was such a connection */
export function createLargeMessages<Connection>(
  max: number,
  makeRoom: (by: Connection) => boolean,
): LargeMessages<Connection> {
  let reserved = 0
  return {
    reserve(by) {
      if (reserved >= max && !makeRoom(by)) return false
      reserved++
      return true
    },
    release() {
      reserved--
    },
  }
}

/** The large message that arrives on a connection. */
export class IncomingLarge<Connection> {
  readonly #all: LargeMessages<Connection>
  #isReserved = false

  constructor(all: LargeMessages<Connection>) {
    this.#all = all
  }

  get isReserved(): boolean {
    return this.#isReserved
  }

  /** @returns false: there are too many */
  reserve(by: Connection): boolean {
    this.#isReserved ||= this.#all.reserve(by)
    return this.#isReserved
  }

  /** From now on another part releases it. */
  handOver(): void {
    this.#isReserved = false
  }

  release(): void {
    if (this.#isReserved) this.#all.release()
    this.#isReserved = false
  }
}
