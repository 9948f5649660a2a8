import { UsageError } from './failure.ts'

interface Range {
  readonly min: number
  readonly max: number
  /** What it counts, in the plural: `days`. */
  readonly unit: string
  /** Whether it may have a fraction. Default: whole numbers only. */
  readonly fraction?: boolean
}

/**
 * The number of an option.
 *
 * @param flag such as `--days`
 * @throws UsageError for a text that is no number of the range
 */
export function readNumber(flag: string, text: unknown, { min, max, unit, fraction = false }: Range): number {
  // `Number` reads "" and "0x1e" as numbers, too.
  const value = /^-?\d{1,15}(?:\.\d{1,15})?$/.test(String(text)) ? Number(text) : Number.NaN
  if (value >= min && value <= max && (fraction || Number.isInteger(value))) return value
  throw new UsageError(
    `${flag} is ${JSON.stringify(String(text).slice(0, 80))}, not a ${fraction ? '' : 'whole '}number of ${unit} from ${min} to ${max}`,
    `For example ${flag} ${Math.min(Math.max(min, 30), max)}`,
  )
}
