import { DpopError } from './checks/proof.ts'

export interface UsedProofsOptions {
  /** Milliseconds for which a proof can be valid after its first use. */
  readonly lifeMs: number
  /** Proofs that are stored at most. */
  readonly max: number
  /** Proofs of one key that are stored at most, so that no key fills the memory of all. */
  readonly maxPerKey: number
}

/**
 * Replay protection: the used proofs that have not expired (RFC 9449 § 11.1). No proof is removed before it expires: when the
 * memory is full, a new proof is refused instead.
 */
export class UsedProofs {
  /** Key and `jti`, with the end of each; the oldest first, since all live equally long. */
  readonly #ends = new Map<string, number>()
  readonly #perKey = new Map<string, number>()
  readonly #options: UsedProofsOptions
  constructor(options: UsedProofsOptions) {
    this.#options = options
  }

  /**
   * Uses up a proof.
   *
   * @param jkt thumbprint of its key
   * @param monotonic milliseconds since any moment; a clock that jumps would forget proofs that are valid again when it jumps back
   * @throws DpopError if it was used before, or cannot be stored
   */
  use(jkt: string, jti: string, monotonic: number): void {
    this.#forgetEnded(monotonic)
    const key = `${jkt} ${jti}`
    if (this.#ends.has(key)) throw new DpopError('invalid_dpop_proof', 'the proof was used before')
    const count = this.#perKey.get(jkt) ?? 0
    const { max, maxPerKey, lifeMs } = this.#options
    if (count >= maxPerKey || this.#ends.size >= max) {
      const whose = count >= maxPerKey ? `${count} proofs of this key` : `${this.#ends.size} proofs`
      const within = `within ${lifeMs / 1000} s`
      throw new DpopError('busy', `${whose} were used ${within}, which is the limit; try again later`)
    }
    this.#ends.set(key, monotonic + lifeMs)
    this.#perKey.set(jkt, count + 1)
  }

  #forgetEnded(monotonic: number): void {
    for (const [key, end] of this.#ends) {
      if (end > monotonic) return
      this.#ends.delete(key)
      const jkt = key.slice(0, key.indexOf(' '))
      const count = this.#perKey.get(jkt)! - 1
      if (count === 0) this.#perKey.delete(jkt)
      else this.#perKey.set(jkt, count)
    }
  }
}
