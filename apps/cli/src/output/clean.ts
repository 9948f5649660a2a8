/** Foreign text in the results of commands. */
import { onOneLine, withoutControls } from '@selvedge/protocol/redaction'

/** The same text; lines after the first are indented, so that they cannot be mistaken for a line of the program. */
export const indented = (text: string): string => withoutControls(text).replaceAll(/\n+/g, '\n  ')

/** A result with every text in it on one line, names of members too. */
export function cleanResult(value: unknown): unknown {
  if (typeof value === 'string') return onOneLine(value)
  if (Array.isArray(value)) return value.map(cleanResult)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [onOneLine(name), cleanResult(inner)]),
  )
}
