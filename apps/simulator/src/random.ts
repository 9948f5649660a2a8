/** Numbers that look like chance and are the same for the same seed. */
import { createHash } from 'node:crypto'

export interface Random {
  /** From 0 up to, but not including, 1. */
  next(): number
  /** Of the normal distribution, with mean 0 and deviation 1. */
  normal(): number
}

/** xorshift32 (Marsaglia, 2003): small and fast; it decides the way of a device, and no secret. */
export function createRandom(seed: string): Random {
  let state = createHash('sha256').update(seed).digest().readUInt32BE(0) || 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  return {
    next,
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  }
}
