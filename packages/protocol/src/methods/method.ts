import type * as z from 'zod'
import type { Reason } from '../errors/catalogue.ts'
import type { FromServices } from './from-services.ts'

/** One parameter: its index in the list is its position, its name is for the by-name form. */
export interface Param<Name extends string = string, Schema extends z.ZodType = z.ZodType> {
  readonly name: Name
  readonly schema: Schema
  readonly description: string
  /** What a valid value looks like, for error messages: "a decimal string in degrees, from -180 to 180". */
  readonly expected: string
}

/** Who may call a method. The dispatcher checks it before the handler runs, and hands the handler the verified caller. */
export type Access =
  | { readonly caller: 'anyone' /** Open even if an API key is set. */; readonly withoutApiKey?: true }
  | TokenAccess
  | PersonAccess
  /** Every process that can open the operator's socket. */
  | { readonly caller: 'operator' }

/** The parameter `edgeAccessToken` is an access token of this node. */
export interface TokenAccess {
  readonly caller: 'token'
  /** `associated`: the token must also be of the associated account. */
  readonly token: 'node' | 'associated'
  /** Scope that the token must hold. */
  readonly scope?: string
}

/** Of the console: a signed-in person. */
export interface PersonAccess {
  readonly caller: 'person'
  /** `recent`: signed in within the last ten minutes. */
  readonly session: 'any' | 'recent'
  /** Only owners of the account. */
  readonly role?: 'owner'
}

/** One method of an API, declared once: server table, client types, OpenRPC, CLI help and reference derive from it. */
export interface Method<
  Name extends string = string,
  Params extends readonly Param[] = readonly Param[],
  Result extends z.ZodType = z.ZodType,
  Asked extends Access = Access,
> {
  readonly name: Name
  readonly summary: string
  readonly description?: string
  readonly params: Params
  /** A positional value after the last parameter is ignored: clients of this API family send one. Default: it is refused. */
  readonly ignoresOneMore?: true
  readonly result: Result
  /** Reasons with which this method fails, in addition to those of every call. */
  readonly reasons: readonly Reason[]
  readonly access: Asked
  /** Whether services of the device may call it; the REST twins of the method follow. Default: no. */
  readonly fromServices?: FromServices
  /** Served even while the daemon is overloaded. Only for methods that cost little and must not starve. Default: refused with `busy`. */
  readonly priority?: 'vital'
  /** Timeout for callers in milliseconds, if the default of ten seconds is too short. */
  readonly timeoutMs?: number
  /** Largest body of a request with a call of this method, in bytes. Default: {@link maxBodyBytesOf}. */
  readonly maxBodyBytes?: number
  /** Members of the result that the answer repeats beside `id` and `jsonrpc`, for clients that look there. */
  readonly mirrored?: readonly string[]
}

/** What a method is described with, beside its summary; empty if there is nothing. */
export const detailsOf = ({ description, ignoresOneMore, params }: Method): string =>
  [
    ...(description === undefined ? [] : [description]),
    ...(ignoresOneMore ? [`One ${params.length === 0 ? '' : 'more '}positional value is ignored.`] : []),
  ].join(' ')

/** Bytes of a request's body that every method accepts. */
export const defaultMaxBodyBytes = 64 * 1024
/** Bytes for a batch of a hundred calls, each with an access token of its own in its parameters. */
const batchOfTokensBytes = 256 * 1024

/**
 * Largest body of a request with a call of a method, in bytes: what it declares, else 262,144 if its calls carry an access
 * token, else 65,536. It limits what any caller can make the runtime parse.
 */
export const maxBodyBytesOf = ({ maxBodyBytes, access }: Method): number =>
  maxBodyBytes ?? (access.caller === 'token' ? batchOfTokensBytes : defaultMaxBodyBytes)

export function param<const Name extends string, Schema extends z.ZodType>(
  name: Name,
  schema: Schema,
  expected: string,
  description: string,
): Param<Name, Schema> {
  return { name, schema, expected, description }
}

export function method<
  const Name extends string,
  const Params extends readonly Param[],
  Result extends z.ZodType,
  const Asked extends Access,
>(declaration: Method<Name, Params, Result, Asked>): Method<Name, Params, Result, Asked> {
  return declaration
}

/** The parameters of a method by name, as a handler gets them. */
export type ParamsOf<M extends Method> = {
  [P in M['params'][number] as P['name']]: z.output<P['schema']>
}

/** The parameters of a method by name, as a caller gives them. */
export type InputOf<M extends Method> = Flat<
  {
    [P in M['params'][number] as undefined extends z.input<P['schema']> ? never : P['name']]: z.input<
      P['schema']
    >
  } & {
    [P in M['params'][number] as undefined extends z.input<P['schema']> ? P['name'] : never]?: z.input<
      P['schema']
    >
  }
>

/** The same members, as one type. */
type Flat<T> = { [Name in keyof T]: T[Name] }

export type ResultOf<M extends Method> = z.output<M['result']>

/** The same method with its positional parameters in another order; by-name calls do not change. */
export function withParamOrder<M extends Method>(declaration: M, order: readonly string[]): M {
  const params = order.map((name) => declaration.params.find((each) => each.name === name)!)
  return { ...declaration, params }
}
