/** The forms of settings: what a row of the table declares, and how the usual kinds are read. */

export interface Setting<T> {
  readonly description: string
  /** What a valid value looks like, for error messages. */
  readonly expected: string
  readonly default: T
  /** All valid values, if they are few. */
  readonly values?: readonly string[]
  /** Returns undefined if the text is not a valid value. */
  readonly read: (text: string) => T | undefined
}

export const setting = <T>(
  description: string,
  expected: string,
  fallback: T,
  read: (text: string) => T | undefined,
): Setting<T> => ({ description, expected, default: fallback, read })

export const flag = (description: string): Setting<boolean> => ({
  ...setting<boolean>(description, '"true" or "false"', false, (text) =>
    text === 'true' ? true : text === 'false' ? false : undefined,
  ),
  values: ['true', 'false'],
})

export const choice = <const T extends string>(description: string, values: readonly T[]): Setting<T> => ({
  ...setting<T>(description, values.map((each) => JSON.stringify(each)).join(' or '), values[0]!, (text) =>
    values.find((each) => each === text),
  ),
  values,
})

export const number = (description: string, fallback: number, min: number, max: number) =>
  setting<number>(description, `a decimal number from ${min} to ${max}`, fallback, (text) => {
    const value = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  })

/** If absent, the default depends on the engine. */
export const orEngine = (each: Setting<number>): Setting<number | undefined> => ({
  ...each,
  default: undefined,
})

/** The image decides if the setting is absent. */
export const orImage = <T>(description: string, expected: string, read: (text: string) => T | undefined) =>
  setting<T | undefined>(description, expected, undefined, read)

/** The default as a caller would write it; undefined if it depends on the image or the engine, or is nothing. */
export function defaultText({ default: fallback }: Setting<unknown>): string | undefined {
  if (fallback === undefined || (Array.isArray(fallback) && fallback.length === 0)) return undefined
  return String(fallback)
}
