/**
 * Schemas that are built when they are used first. The bundler gives this module to the programs in place of `zod`: a runtime declares some
 * 500 schemas, and a start reads with a few of them. What a program uses of `zod` is listed here; the bundler names what is missing.
 */
import * as zod from 'zod'

type Schema = Record<PropertyKey, unknown>
type Build = (...given: never[]) => unknown

/** A declared schema: how it is built, or the schema. */
interface Declared {
  build: (() => unknown) | undefined
  schema: Schema | undefined
}

/** Methods that give another schema, and read nothing of the one that they extend. Any other one builds it. */
const extending = new Set<PropertyKey>([
  'and',
  'catch',
  'default',
  'describe',
  'exclude',
  'extend',
  'int',
  'lt',
  'max',
  // Called with data only: without it, `meta` reads.
  'meta',
  'min',
  'nullable',
  'nullish',
  'optional',
  'or',
  'pipe',
  'positive',
  'refine',
  'regex',
  'transform',
  'trim',
])

const declarations = new WeakMap<object, Declared>()

function schemaOf(declared: Declared): Schema {
  if (declared.build) {
    declared.schema = declared.build() as Schema
    declared.build = undefined
  }
  return declared.schema!
}

/** What was given to a builder, with schemas in place of declarations, so that a parse meets no declaration. */
function withSchemas(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given
  const declared = declarations.get(given)
  if (declared) return schemaOf(declared)
  if (Array.isArray(given)) return given.map(withSchemas)
  if (Object.getPrototypeOf(given) !== Object.prototype) return given
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, withSchemas(value)]))
}

const handler: ProxyHandler<Declared> = {
  get(declared, key) {
    if (declared.build && extending.has(key))
      return (...given: unknown[]) =>
        declare(() => (schemaOf(declared)[key] as (...all: unknown[]) => unknown)(...given.map(withSchemas)))
    return schemaOf(declared)[key]
  },
  has: (declared, key) => key in schemaOf(declared),
  getPrototypeOf: (declared) => Object.getPrototypeOf(schemaOf(declared)),
}

function declare(build: () => unknown): unknown {
  const declared: Declared = { build, schema: undefined }
  const schema = new Proxy(declared, handler)
  declarations.set(schema, declared)
  return schema
}

/** The same builder; what it gives is built when it is used first. */
const lazy = <T extends Build>(build: T): T =>
  ((...given: never[]) => declare(() => build(...(given.map(withSchemas) as never[])))) as unknown as T

export const array = lazy(zod.array)
export const boolean = lazy(zod.boolean)
export const discriminatedUnion = lazy(zod.discriminatedUnion)
export const email = lazy(zod.email)
const enumOf = lazy(zod.enum)

export { enumOf as enum }
export const int = lazy(zod.int)
export const literal = lazy(zod.literal)
export const looseObject = lazy(zod.looseObject)
export const number = lazy(zod.number)
export const object = lazy(zod.object)
export const record = lazy(zod.record)
export const strictObject = lazy(zod.strictObject)
export const string = lazy(zod.string)
export const tuple = lazy(zod.tuple)
export const union = lazy(zod.union)
export const unknown = lazy(zod.unknown)
export const uuid = lazy(zod.uuid)
export const iso = { datetime: lazy(zod.iso.datetime) }
export const coerce = { number: lazy(zod.coerce.number) }

export const toJSONSchema = ((schema: zod.ZodType, ...options: never[]) =>
  zod.toJSONSchema(withSchemas(schema) as zod.ZodType, ...options)) as typeof zod.toJSONSchema
