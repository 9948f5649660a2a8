import { RpcError } from '../errors/rpc-error.ts'
import type { Method } from './method.ts'

/**
 * Converts the `params` of a request into values by name.
 *
 * "No parameters" may come as an absent member, `[]`, `[""]`, `null` or `{}`: clients of this API family send all five.
 *
 * @throws RpcError `invalid_params`, naming the parameter and what was expected
 */
export function readParams(method: Method, raw: unknown): Readonly<Record<string, unknown>> {
  if (method.params.length === 0 && isNothing(raw)) return nothing
  const given = Array.isArray(raw) ? byPosition(method, raw) : byName(method, (raw ?? {}) as object)
  const values: Record<string, unknown> = {}
  for (const { name, schema, expected } of method.params) {
    const value = given.get(name)
    if (value === undefined && !isOptional(schema)) {
      throw new RpcError(
        'invalid_params',
        `${method.name}: parameter "${name}" is missing; expected ${expected}`,
      )
    }
    const read = schema.safeParse(value)
    if (!read.success) {
      throw new RpcError(
        'invalid_params',
        `${method.name}: parameter "${name}" is ${show(value)}; expected ${expected}`,
      )
    }
    values[name] = read.data
  }
  return values
}

/** Cached: many calls use the schemas of the same few parameters. */
const isOptional = (schema: Method['params'][number]['schema']): boolean =>
  schema.safeParse(undefined).success

const nothing: Readonly<Record<string, unknown>> = Object.freeze({})

function isNothing(raw: unknown): boolean {
  if (Array.isArray(raw)) return raw.length === 0 || (raw.length === 1 && raw[0] === '')
  for (const _ in (raw ?? nothing) as object) return false
  return true
}

function byPosition({ name, params, ignoresOneMore }: Method, raw: readonly unknown[]): Map<string, unknown> {
  if (raw.length > params.length + (ignoresOneMore ? 1 : 0)) {
    const names = params.map((each) => each.name).join(', ') || 'no parameters'
    throw new RpcError(
      'invalid_params',
      `${name}: got ${raw.length} values; expected ${params.length}: ${names}`,
    )
  }
  return new Map(params.slice(0, raw.length).map((each, at) => [each.name, raw[at]]))
}

function byName({ name, params }: Method, raw: object): Map<string, unknown> {
  const given = new Map(Object.entries(raw))
  for (const key of given.keys()) {
    if (!params.some((each) => each.name === key)) {
      const names = params.map((each) => each.name).join(', ') || 'no parameters'
      throw new RpcError('invalid_params', `${name}: unknown parameter ${show(key)}; expected ${names}`)
    }
  }
  return given
}

/** A value short enough for a message. Strings that may be secrets are long: only their length is shown. */
function show(value: unknown): string {
  if (typeof value === 'string' && value.length > 40) return `a string of ${value.length} characters`
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return JSON.stringify(value)
}
