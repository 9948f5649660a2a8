/** Result of one check, of `selvedge doctor` and of its production checks. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  /** How to fix it; empty if there is nothing to fix. */
  readonly hints: readonly string[]
}

export const passed = (name: string, detail: string): Check => ({ name, ok: true, detail, hints: [] })
export const failed = (name: string, detail: string, fix: string): Check => ({
  name,
  ok: false,
  detail,
  hints: [fix],
})

/** One failed check for each finding, or one that passed. */
export const checksOf = (name: string, findings: readonly Check[], fine: string): readonly Check[] =>
  findings.length > 0 ? findings : [passed(name, fine)]
