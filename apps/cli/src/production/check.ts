/** Result of one check, of `selvedge doctor` and of its production checks. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  /** How to fix it; empty if there is nothing to fix. */
  readonly hints: readonly string[]
  /** A program and its arguments that fix it without a decision of a person: `selvedge doctor --fix` runs it. The first hint shows it. */
  readonly fix?: readonly string[]
}

export const passed = (name: string, detail: string): Check => ({ name, ok: true, detail, hints: [] })
export const failed = (name: string, detail: string, ...hints: readonly string[]): Check => ({
  ...{ name, ok: false, detail },
  hints: hints.filter((each) => each !== ''),
})

/** @param fix see `Check.fix`. @param more hints after the command */
export const fixable = (
  name: string,
  detail: string,
  fix: readonly string[],
  ...more: readonly string[]
): Check => ({ ...failed(name, detail, asRoot(fix), ...more), fix })

/** A command line that root's shell, or another user's, runs as root. */
const asRoot = (command: readonly string[]): string =>
  [...(process.getuid?.() === 0 ? [] : ['sudo']), ...command].map(quoted).join(' ')

/** For a shell. */
const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** One failed check for each finding, or one that passed. */
export const checksOf = (name: string, findings: readonly Check[], fine: string): readonly Check[] =>
  findings.length > 0 ? findings : [passed(name, fine)]
