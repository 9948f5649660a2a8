import { DpopError } from './checks/proof.ts'

export interface UsedProofsOptions {
  /** Milliseconds for which a proof can be valid after its first use. */
  readonly lifeMs: number
  /** Proofs that are stored at most. */
  readonly max: number
  /** Proofs of one key or account that are stored at most, so that no key and no account fills the memory of all. */
  readonly maxPerOwner: number
}

/**
 * Replay protection: the used proofs that have not expired (RFC 9449 § 11.1). No proof is removed before it expires: when the
 * memory is full, a new proof is refused instead.
 */
export class UsedProofs {
  /** Key and `jti`, with the end and the owner of each; the oldest first, since all live equally long. */
  readonly #used = new Map<string, { readonly end: number; readonly owner: string }>()
  readonly #perOwner = new Map<string, number>()
  readonly #options: UsedProofsOptions
  constructor(options: UsedProofsOptions) {
    this.#options = options
  }

  /**
   * Uses up a proof.
   *
   * @param jkt thumbprint of its key
   * @param monotonic milliseconds since any moment; a clock that jumps would forget proofs that are valid again when it jumps back
   * @param owner proofs of one owner are counted together: the account of the token, which may have many keys; default: the key
   * @throws DpopError if it was used before, or cannot be stored
   */
  use(jkt: string, jti: string, monotonic: number, owner = jkt): void {
    this.#forgetEnded(monotonic)
    const key = `${jkt} ${jti}`
    if (this.#used.has(key)) throw new DpopError('invalid_dpop_proof', 'the proof was used before')
    const count = this.#perOwner.get(owner) ?? 0
    const { max, maxPerOwner, lifeMs } = this.#options
    if (count >= maxPerOwner || this.#used.size >= max) {
      const all = `${this.#used.size} proofs`
      const whose =
        count >= maxPerOwner ? `${count} proofs of this ${owner === jkt ? 'key' : 'account'}` : all
      const within = `within ${lifeMs / 1000} s`
      throw new DpopError('busy', `${whose} were used ${within}, which is the limit; try again later`)
    }
    this.#used.set(key, { end: monotonic + lifeMs, owner })
    this.#perOwner.set(owner, count + 1)
  }

  #forgetEnded(monotonic: number): void {
    for (const [key, { end, owner }] of this.#used) {
      if (end > monotonic) return
      this.#used.delete(key)
      const count = this.#perOwner.get(owner)! - 1
      if (count === 0) this.#perOwner.delete(owner)
      else this.#perOwner.set(owner, count)
    }
  }
}
