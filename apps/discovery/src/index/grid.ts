/** The live index: which nodes are in which cell. All of it in typed arrays, and one entry of a map for each cell in use. */
import { type Cells, createCells, distanceBetween, type Place } from '@selvedge/geo'

/** Cells of 0.01 degrees, 1.1 km. */
const cells: Cells = createCells(18_000)
const nowhere = 0xffff_ffff
const degrees = 1e-7

export interface Hit {
  /** Number of the node. */
  readonly slot: number
  /** Metres. */
  readonly distance: number
}

export class Grid {
  #longitude = new Int32Array(0)
  #latitude = new Int32Array(0)
  #cell = new Uint32Array(0)
  #next = new Uint32Array(0)
  #previous = new Uint32Array(0)
  readonly #heads = new Map<number, number>()
  #count = 0

  /** How many nodes are in it. */
  get size(): number {
    return this.#count
  }

  /** Puts a node somewhere, or somewhere else. Integers of 1e-7 degrees. */
  set(slot: number, longitude: number, latitude: number): void {
    if (slot >= this.#cell.length) this.#grow(slot)
    const cell = cells.cellOf(longitude * degrees, latitude * degrees)
    const before = this.#cell[slot]!
    this.#longitude[slot] = longitude
    this.#latitude[slot] = latitude
    if (before === cell) return
    if (before !== nowhere) this.#unlink(slot, before)
    const head = this.#heads.get(cell)
    this.#cell[slot] = cell
    this.#previous[slot] = nowhere
    this.#next[slot] = head ?? nowhere
    if (head !== undefined) this.#previous[head] = slot
    this.#heads.set(cell, slot)
    this.#count++
  }

  delete(slot: number): void {
    const cell = this.#cell[slot] ?? nowhere
    if (cell === nowhere) return
    this.#unlink(slot, cell)
    this.#cell[slot] = nowhere
  }

  /**
   * Nodes within a radius in metres, in no order, that are accepted.
   *
   * @param among the only ones that may be, where they are few
   */
  within(place: Place, radius: number, accept: (slot: number) => boolean, among?: readonly number[]): Hit[] {
    const hits: Hit[] = []
    const look = (slot: number) => {
      const distance = distanceBetween(
        place.longitude,
        place.latitude,
        this.#longitude[slot]! * degrees,
        this.#latitude[slot]! * degrees,
      )
      if (distance <= radius && accept(slot)) hits.push({ slot, distance })
    }
    // Where there are more cells than nodes, the nodes are looked through.
    if (among) {
      for (const slot of among) if ((this.#cell[slot] ?? nowhere) !== nowhere) look(slot)
    } else if (cells.countWithin(place, radius) > this.#cell.length) {
      for (let slot = 0; slot < this.#cell.length; slot++) if (this.#cell[slot] !== nowhere) look(slot)
    } else {
      cells.visit(place, radius, (cell) => {
        for (let slot = this.#heads.get(cell) ?? nowhere; slot !== nowhere; slot = this.#next[slot]!)
          look(slot)
      })
    }
    return hits
  }

  #unlink(slot: number, cell: number): void {
    const next = this.#next[slot]!
    const previous = this.#previous[slot]!
    if (next !== nowhere) this.#previous[next] = previous
    if (previous !== nowhere) this.#next[previous] = next
    else if (next === nowhere) this.#heads.delete(cell)
    else this.#heads.set(cell, next)
    this.#count--
  }

  #grow(slot: number): void {
    const length = Math.max(1024, slot + 1, Math.ceil(this.#cell.length * 1.5))
    const old = this.#cell.length
    this.#longitude = grown(this.#longitude, length)
    this.#latitude = grown(this.#latitude, length)
    this.#next = grown(this.#next, length)
    this.#previous = grown(this.#previous, length)
    this.#cell = grown(this.#cell, length)
    this.#cell.fill(nowhere, old)
  }
}

/** A longer copy of a typed array. */
export function grown<A extends Int32Array | Uint32Array | Uint8Array | Uint16Array | Float64Array>(
  array: A,
  length: number,
): A {
  const longer = new (array.constructor as new (length: number) => A)(length)
  longer.set(array)
  return longer
}
