/** Milliseconds in steps of 2 %: a figure for any share of millions of them, in a few kilobytes. */
const step = Math.log(1.02)
const smallest = 0.01
const steps = 1200

export class Histogram {
  readonly #counts = new Uint32Array(steps)
  count = 0
  max = 0

  add(milliseconds: number): void {
    const at = Math.ceil(Math.log(Math.max(smallest, milliseconds) / smallest) / step)
    this.#counts[Math.min(steps - 1, at)]!++
    this.count++
    this.max = Math.max(this.max, milliseconds)
  }

  /** The figure that a share of them does not exceed; 0 where there are none. */
  percentile(share: number): number {
    let left = Math.ceil(this.count * share)
    if (left === 0) return 0
    for (let at = 0; at < steps; at++) {
      left -= this.#counts[at]!
      if (left <= 0) return Math.min(this.max, smallest * Math.exp(at * step))
    }
    return this.max
  }

  clear(): void {
    this.#counts.fill(0)
    this.count = 0
    this.max = 0
  }
}
