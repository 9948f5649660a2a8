import { createWorkCount, type EndWork } from '../work/work-count.ts'

/** Large messages are limited from their first bytes until they are answered: they are in memory, and need no credential. */
export interface LargeMessages<Connection> {
  /** @returns what to call when the message is not in memory any more; undefined: there are too many already */
  reserve(by: Connection): EndWork | undefined
}

/** @param makeRoom ends what holds one without need, for another connection. @returns whether there was such a connection */
export function createLargeMessages<Connection>(
  max: number,
  makeRoom: (by: Connection) => boolean,
): LargeMessages<Connection> {
  const messages = createWorkCount('large_bodies')
  return {
    reserve: (by) => (messages.underWay < max || makeRoom(by) ? messages.begin() : undefined),
  }
}

/** The large message that arrives on a connection. */
export class IncomingLarge<Connection> {
  readonly #all: LargeMessages<Connection>
  #end: EndWork | undefined

  constructor(all: LargeMessages<Connection>) {
    this.#all = all
  }

  get isReserved(): boolean {
    return this.#end !== undefined
  }

  /** @returns false: there are too many */
  reserve(by: Connection): boolean {
    this.#end ??= this.#all.reserve(by)
    return this.isReserved
  }

  /** Another part ends it from now on. @returns how; undefined: nothing is reserved */
  handOver(): EndWork | undefined {
    const end = this.#end
    this.#end = undefined
    return end
  }

  release(): void {
    this.handOver()?.()
  }
}
