/** Random numbers that are the same for the same seed, on every machine. */
import { hash } from 'node:crypto'

export interface Random {
  /** A whole number from 0 up to, but not including, `limit`. */
  below(limit: number): number
  /** True once in `times` calls, on average. */
  oneIn(times: number): boolean
  pick<T>(list: readonly T[]): T
  /** A whole number that is usually small, from 1 to `limit`. */
  size(limit: number): number
  bytes(length: number): Buffer
}

/** @param seed any text; sfc32 (Chris Doty-Humphrey's small fast counter) started from its SHA-256 */
export function createRandom(seed: string): Random {
  const start = Buffer.from(hash('sha256', seed, 'hex'), 'hex')
  let [a, b, c, counter] = [0, 4, 8, 12].map((at) => start.readInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ]
  const next = (): number => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return sum >>> 0
  }
  const below = (limit: number) => next() % limit
  return {
    below,
    oneIn: (times) => below(times) === 0,
    pick: (list) => list[below(list.length)]!,
    size: (limit) => 1 + below(Math.max(1, Math.min(limit, 1 << below(17)))),
    bytes(length) {
      const bytes = Buffer.alloc(length)
      for (let at = 0; at < length; at++) bytes[at] = next()
      return bytes
    },
  }
}
