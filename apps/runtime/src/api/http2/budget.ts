/** A budget that refills with time: what a client may waste. */
export interface Budget {
  /** Uses one unit. @returns whether there was one */
  spend(): boolean
}

export interface BudgetSettings {
  /** Units of a full budget. */
  readonly burst: number
  /** Units that come back each second. */
  readonly perSecond: number
}

/** @param now gives monotonic milliseconds */
export function createBudget({ burst, perSecond }: BudgetSettings, now: () => number): Budget {
  let left = burst
  let since = now()
  return {
    spend() {
      const at = now()
      left = Math.min(burst, left + ((at - since) / 1000) * perSecond)
      since = at
      if (left < 1) return false
      left--
      return true
    },
  }
}
