import type { Reason } from '../errors/catalogue.ts'
import type { RpcError } from '../errors/rpc-error.ts'
import type { Access, Method, ParamsOf } from '../methods/method.ts'

/** Methods by their names. */
export type MethodTable = Readonly<Record<string, Method>>

/** The types of the callers that handlers get, by the kind of caller that a method declares. */
export type Callers = { readonly [Kind in Access['caller']]?: unknown }

/**
 * One handler for each method. It gets the parameters by name, the verified caller, and what the transport knows about the
 * request. The dispatcher never calls it for a caller that the method's declaration does not allow.
 */
export type HandlersOf<Table extends MethodTable, Of extends Callers, Context> = {
  readonly [Name in keyof Table]: (
    params: ParamsOf<Table[Name]>,
    caller: Of[Table[Name]['access']['caller'] & keyof Of],
    context: Context,
  ) => unknown
}

/**
 * Checks callers, one function for each kind of them: before the parameters are read, unless it reads them itself.
 *
 * @throws RpcError to refuse
 */
export type Checks<Of extends Callers, Context> = {
  readonly [Kind in keyof Of]-?: (
    method: Method<string, Method['params'], Method['result'], Extract<Access, { caller: Kind }>>,
    readParams: () => Params,
    context: Context,
  ) => Of[Kind] | Promise<Of[Kind]>
}

export interface DispatcherOptions<Table extends MethodTable, Of extends Callers, Context> {
  readonly methods: Table
  /** By the method's name; neither may lack the other. */
  readonly handlers: HandlersOf<Table, Of, Context>
  readonly checks: Checks<Of, Context>
  /** Called before the parameters are read; throws an RpcError to refuse. */
  readonly admit?: (method: Method, context: Context) => void
  /** Returns the error for a failure that a caller should know the cause of. The failure is reported all the same. */
  readonly explain?: (cause: unknown) => RpcError | undefined
  /** Receives the cause of an `internal_error` or of an explained failure. Returns the error ID of the answer. */
  readonly onInternalError: (method: string, cause: unknown, context: Context | undefined) => string
  /**
   * Called with each call that was answered, also one without an answer.
   *
   * @param method as the caller wrote it
   * @param reason of the error; undefined: it succeeded
   */
  readonly onAnswer?: ((method: string, reason: Reason | undefined, context: Context) => void) | undefined
  /** Repeat the members that a method names in `mirrored` beside `id` and `jsonrpc`. */
  readonly mirror: boolean
  readonly limits: DispatcherLimits
}

interface DispatcherLimits {
  /** Levels of nested objects and arrays. */
  readonly depth: number
  /** Calls in a batch. */
  readonly batch: number
  /** Whether strings that a database cannot hold (U+0000, halves of surrogate pairs) are a parse error. Default: false. */
  readonly isStored?: boolean
  /**
   * Maximum characters of all answers of a batch together. Answers beyond it are replaced by `limit_exceeded`; those of up
   * to 1,024 characters are always sent. Default: 524,288.
   */
  readonly batchAnswer?: number
}

export type Params = Readonly<Record<string, unknown>>
type Handler<Context> = (params: Params, caller: unknown, context: Context) => unknown
type Check<Context> = (method: Method, readParams: () => Params, context: Context) => unknown

/** A method with its handler and the check of its callers. */
export interface Entry<Context> {
  readonly method: Method
  readonly check: Check<Context>
  readonly handler: Handler<Context>
  /** The frozen result of the last call, and its text. */
  last: { readonly result: unknown; readonly text: string } | undefined
}

/** @throws Error if a method has no handler or no check of its callers: such an API does not start */
export function tableOf<Table extends MethodTable, Of extends Callers, Context>(
  options: DispatcherOptions<Table, Of, Context>,
): Map<string, Entry<Context>> {
  const handlers = new Map<string, Handler<Context>>(Object.entries(options.handlers))
  const checks = new Map<string, Check<Context>>(Object.entries(options.checks))
  const table = new Map<string, Entry<Context>>()
  for (const [name, method] of Object.entries(options.methods)) {
    const handler = handlers.get(name)
    if (!handler) throw new Error(`method ${name} has no handler`)
    const check = checks.get(method.access?.caller)
    if (!check) throw new Error(`method ${name} does not declare who may call it, or nothing checks that`)
    table.set(name, { method, check, handler, last: undefined })
  }
  for (const name of handlers.keys()) if (!table.has(name)) throw new Error(`handler ${name} has no method`)
  return table
}
