/** Query parameters of REST routes. They are read as strictly as the parameters of methods: repeated ones are refused, and unknown ones unless a route ignores them. */
import { RpcError } from '@selvedge/protocol'

export interface QueryParameter<T> {
  /** For the refusal: `a whole number from 1 to 10000`. */
  readonly expected: string
  /** @returns undefined for a value that is not accepted */
  readonly read: (text: string) => T | undefined
}

export type QueryParameters = Readonly<Record<string, QueryParameter<unknown>>>

/** The values of these parameters. Those that the request leaves out are absent. */
export type QueryOf<P extends QueryParameters> = {
  readonly [Name in keyof P]?: P[Name] extends QueryParameter<infer T> ? T : never
}

/**
 * @param ignoresUnknown whether other parameters are ignored, not refused
 * @throws RpcError `invalid_params` with the name of the parameter, its value, and what is expected
 */
export function readQuery<P extends QueryParameters>(
  query: URLSearchParams,
  parameters: P,
  ignoresUnknown = false,
): QueryOf<P> {
  const values = new Map<string, unknown>()
  for (const [name, text] of query) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    if (!parameter) {
      if (ignoresUnknown) continue
      throw unknownParameter(name, Object.keys(parameters))
    }
    if (values.has(name))
      throw new RpcError('invalid_params', `the query parameter ${shown(name)} is repeated; send it once`)
    const value = parameter.read(text)
    if (value === undefined)
      throw new RpcError(
        'invalid_params',
        `the query parameter ${shown(name)} is ${shown(text)}; expected ${parameter.expected}`,
      )
    values.set(name, value)
  }
  return Object.fromEntries(values) as QueryOf<P>
}

function unknownParameter(name: string, known: readonly string[]): RpcError {
  const expected = known.length === 0 ? 'no query parameters' : known.map(shown).join(', ')
  return new RpcError('invalid_params', `the query parameter ${shown(name)} is unknown; expected ${expected}`)
}

const shown = (text: string): string => JSON.stringify(text.slice(0, 100))

/** One of a few words. */
export const oneOf = <T extends string>(values: readonly T[]): QueryParameter<T> => ({
  expected: values.map(shown).join(' or '),
  read: (text) => values.find((each) => each === text),
})

interface Schema<T> {
  safeParse(value: unknown): { readonly success: boolean; readonly data?: T | undefined }
}

/** A decimal number that a schema accepts. */
export const decimal = <T>(schema: Schema<T>, expected: string): QueryParameter<T> => ({
  expected,
  read: (text) => (/^\d{1,15}(?:\.\d{1,15})?$/.test(text) ? schema.safeParse(Number(text)).data : undefined),
})

const isoTime = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/

/** An ISO 8601 time, as Unix milliseconds. */
export const time: QueryParameter<number> = {
  expected: 'an ISO 8601 time such as 2026-01-31T12:00:00Z',
  read(text) {
    const milliseconds = isoTime.test(text) ? Date.parse(text) : Number.NaN
    return Number.isNaN(milliseconds) ? undefined : milliseconds
  },
}
