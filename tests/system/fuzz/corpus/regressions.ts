import { readFileSync } from 'node:fs'

interface Regression {
  /** What the input did. */
  readonly was: string
  /** Base64. */
  readonly input: string
}

/** Inputs that were findings once, by target. */
export const regressions = JSON.parse(
  readFileSync(new URL('regressions.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, readonly Regression[]>>

export const regressionsOf = (target: string): Buffer[] =>
  (regressions[target] ?? []).map(({ input }) => Buffer.from(input, 'base64'))
