import { RpcError, type RpcErrorObject } from '../errors/rpc-error.ts'
import {
  type Access,
  type Method,
  maxBodyBytesOf,
  type ParamsOf,
  defaultMaxBodyBytes as smallestLimit,
} from '../methods/method.ts'
import { readParams } from '../methods/read-params.ts'
import { type JsonError, parseJson } from './json.ts'

/** Identifier of a call. A number beyond 2^53 can't be echoed unchanged and is refused (RFC 8259 § 6). */
export type Id = string | number | null

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

type Params = Readonly<Record<string, unknown>>
type Handler<Context> = (params: Params, caller: unknown, context: Context) => unknown
type Check<Context> = (method: Method, readParams: () => Params, context: Context) => unknown

export interface DispatcherOptions<Table extends MethodTable, Of extends Callers, Context> {
  readonly methods: Table
  /** By the method's name; neither may lack the other. */
  readonly handlers: HandlersOf<Table, Of, Context>
  readonly checks: Checks<Of, Context>
  /** Called before the parameters are read; throws an RpcError to refuse. */
  readonly admit?: (method: Method, context: Context) => void
  /** Gives the words for a failure that a caller should know the cause of; it is reported all the same. */
  readonly explain?: (cause: unknown) => RpcError | undefined
  /** Takes the cause of an `internal_error`, or of one that was explained, and gives the id that the answer carries. */
  readonly onInternalError: (method: string, cause: unknown) => string
  /** Repeat the members that a method names in `mirrored` beside `id` and `jsonrpc`. */
  readonly mirror: boolean
  readonly limits: DispatcherLimits
}

interface DispatcherLimits {
  /** Levels of nested objects and arrays. */
  readonly depth: number
  /** Calls in a batch. */
  readonly batch: number
  /** Whether strings that a database cannot hold (U+0000, halves of surrogate pairs) are a parse error; absent: they are not. */
  readonly isStored?: boolean
  /**
   * Characters that all answers of a batch may have together. Answers beyond it are replaced by `limit_exceeded`; those of up
   * to {@link smallAnswer} characters always go out. Default: 524,288.
   */
  readonly batchAnswer?: number
}

/** Characters of an answer that a batch always carries: what a call changed must be confirmed. */
const smallAnswer = 1024
const defaultBatchAnswer = 512 * 1024

interface Entry<Context> {
  readonly method: Method
  readonly check: Check<Context>
  readonly handler: Handler<Context>
  last: { readonly result: unknown; readonly text: string } | undefined
}

/** An answer as text, or nothing where only notifications came. */
export type Answer = string | undefined

export interface Dispatcher<Context> {
  /**
   * Answers the text of one request or batch. It never throws, and its promises never reject.
   *
   * @param bytes size of the request's body; each method declares how large it may be (`maxBodyBytes`)
   */
  dispatch(text: string, context: Context, bytes?: number): Answer | Promise<Answer>
  /** Answers something that went wrong before there was a text. */
  refuse(error: RpcError): string
}

/**
 * A JSON-RPC 2.0 server without a transport. Two departures from the specification, both for clients of this API family:
 * a lone call without `id` is answered with `"id": null` (in a batch it is a notification), and `params: null` counts as
 * absent.
 *
 * @example
 * ```ts
 * import { methods } from '@selvedge/protocol'
 * import { createDispatcher } from '@selvedge/protocol/jsonrpc'
 *
 * const dispatcher = createDispatcher({
 *   methods: { 'rpc.discover': methods['rpc.discover'] },
 *   handlers: { 'rpc.discover': () => ({ openrpc: '1.3.2' }) },
 *   checks: { anyone: () => undefined },
 *   onInternalError: () => 'error-1',
 *   mirror: false,
 *   limits: { depth: 32, batch: 100 },
 * })
 * console.log(await dispatcher.dispatch('{"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"}', undefined))
 * ```
 */
export function createDispatcher<Table extends MethodTable, Of extends Callers, Context>(
  options: DispatcherOptions<Table, Of, Context>,
): Dispatcher<Context> {
  const table = tableOf(options)
  /** Limit of the largest body that any method accepts: a larger one is not even parsed. */
  const maxBodyBytes = Math.max(...Object.values(options.methods).map(maxBodyBytesOf))
  const batchAnswer = options.limits.batchAnswer ?? defaultBatchAnswer

  function failure(id: Id, cause: unknown, method = ''): string {
    const known = cause instanceof RpcError && cause.reason !== 'internal_error'
    const error: RpcErrorObject = known
      ? cause.toObject()
      : (
          options.explain?.(cause) ??
          new RpcError('internal_error', 'the runtime failed while it ran this call')
        ).toObject(report(method, cause))
    return JSON.stringify({ id, jsonrpc: '2.0', error })
  }

  /** A report that fails must not take the answer with it. */
  function report(method: string, cause: unknown): string {
    try {
      return options.onInternalError(method, cause)
    } catch {
      return 'not-logged'
    }
  }

  /** The text of a frozen result is cached: a handler that returns the same object again costs no serialization. */
  function success(id: Id, entry: Entry<Context>, result: unknown): string {
    try {
      const text =
        entry.last !== undefined && entry.last.result === result
          ? entry.last.text
          : textOf(entry.method, result)
      if (Object.isFrozen(result) && typeof result === 'object') entry.last = { result, text }
      return `{"id":${typeof id === 'string' ? JSON.stringify(id) : id},"jsonrpc":"2.0",${text}}`
    } catch (cause) {
      return failure(id, cause, entry.method.name)
    }
  }

  function textOf({ mirrored }: Method, result: unknown): string {
    const text = `"result":${JSON.stringify(result ?? null)}`
    if (!options.mirror || !mirrored) return text
    const members = mirrored.map(
      (name) => `,${JSON.stringify(name)}:${JSON.stringify((result as Record<string, unknown>)[name])}`,
    )
    return text + members.join('')
  }

  /** Runs one element of a request; the answer of a notification is for the caller to drop. */
  function run(element: unknown, context: Context): string | Promise<string> {
    let id: Id = null
    let name = ''
    try {
      const call = readCall(element)
      id = call.id
      name = call.method
      const entry = table.get(name)
      if (!entry)
        throw new RpcError('method_not_found', `there is no method ${JSON.stringify(name.slice(0, 80))}`)
      const { method, check, handler } = entry
      options.admit?.(method, context)
      let params: Params | undefined
      const read = () => {
        params ??= readParams(method, call.params)
        return params
      }
      const caller = check(method, read, context)
      const result =
        caller instanceof Promise
          ? caller.then((verified) => handler(read(), verified, context))
          : handler(read(), caller, context)
      if (!(result instanceof Promise)) return success(id, entry, result)
      return result.then(
        (value) => success(id, entry, value),
        (cause: unknown) => failure(id, cause, name),
      )
    } catch (cause) {
      return failure(id, cause, name)
    }
  }

  /** Answers that are ready are joined without waiting: a batch of a hundred small calls costs no turn of the event loop. */
  function runBatch(batch: readonly unknown[], context: Context): Answer | Promise<Answer> {
    const answers: (string | Promise<string>)[] = []
    const ids: Id[] = []
    let isWaiting = false
    for (const element of batch) {
      const answer = run(element, context)
      if (isNotification(element)) continue
      isWaiting ||= answer instanceof Promise
      answers.push(answer)
      ids.push(idOf(element))
    }
    const join = (ready: readonly string[]) => joinAnswers(fitting(ready, ids))
    return isWaiting ? Promise.all(answers).then(join) : join(answers as string[])
  }

  /** Replaces the answers that would make the answer of a batch too large. */
  function fitting(answers: readonly string[], ids: readonly Id[]): readonly string[] {
    let left = batchAnswer
    return answers.map((answer, at) => {
      if (answer.length <= smallAnswer) return answer
      left -= answer.length
      if (left >= 0) return answer
      left += answer.length
      const detail = `the call ran, and its answer of ${answer.length} characters is left out: the answers of a batch may have ${batchAnswer} together`
      return failure(
        ids[at]!,
        new RpcError('limit_exceeded', detail, { hint: 'Send the call in a request of its own.' }),
      )
    })
  }

  /** Refuses a body that is larger than a method of it declares. */
  function oversized(value: unknown, bytes: number): string | undefined {
    if (bytes <= smallestLimit) return undefined
    for (const element of Array.isArray(value) ? value : [value]) {
      const name = (element as { method?: unknown } | null)?.method
      const method = typeof name === 'string' ? table.get(name)?.method : undefined
      const limit = method ? maxBodyBytesOf(method) : smallestLimit
      if (bytes > limit) return tooLarge(bytes, limit, method?.name)
    }
    return undefined
  }

  function tooLarge(bytes: number, limit: number, name?: string): string {
    const what = name === undefined ? 'a body' : `a body with a call of ${name}`
    const detail = `the body has ${bytes} bytes; ${what} may have at most ${limit}`
    return failure(null, new RpcError('limit_exceeded', detail))
  }

  return {
    dispatch(text, context, bytes = text.length) {
      if (bytes > maxBodyBytes) return tooLarge(bytes, maxBodyBytes)
      let value: unknown
      try {
        value = parseJson(text, options.limits.depth, options.limits.isStored)
      } catch (cause) {
        const problem = cause as JsonError
        return failure(
          null,
          new RpcError(problem.problem === 'depth' ? 'limit_exceeded' : 'parse_error', problem.message),
        )
      }
      if (Array.isArray(value) && value.length === 0)
        return failure(null, new RpcError('invalid_request', 'the batch is empty'))
      if (Array.isArray(value) && value.length > options.limits.batch) {
        const detail = `the batch holds ${value.length} calls; at most ${options.limits.batch} are accepted`
        return failure(null, new RpcError('limit_exceeded', detail))
      }
      return (
        oversized(value, bytes) ?? (Array.isArray(value) ? runBatch(value, context) : run(value, context))
      )
    },
    refuse: (error) => failure(null, error),
  }
}

/** @throws Error where a method lacks a handler or a check of its callers: such an API does not start */
function tableOf<Table extends MethodTable, Of extends Callers, Context>(
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

const joinAnswers = (answers: readonly string[]): Answer =>
  answers.length === 0 ? undefined : `[${answers.join(',')}]`

interface Call {
  readonly id: Id
  readonly method: string
  readonly params: unknown
}

/** @throws RpcError `invalid_request`, for which the answer's id is null */
function readCall(element: unknown): Call {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) {
    throw new RpcError('invalid_request', 'a call is a JSON object')
  }
  const { jsonrpc, id, method, params } = element as Record<string, unknown>
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    throw new RpcError('invalid_request', 'member "id" is neither a string nor a number nor null')
  }
  if (typeof id === 'number' && Number.isInteger(id) && !Number.isSafeInteger(id)) {
    throw new RpcError('invalid_request', 'member "id" is an integer beyond 2^53; send it as a string')
  }
  if (jsonrpc !== '2.0') throw new RpcError('invalid_request', 'member "jsonrpc" is not "2.0"')
  if (typeof method !== 'string') throw new RpcError('invalid_request', 'member "method" is not a string')
  if (params !== undefined && typeof params !== 'object') {
    throw new RpcError('invalid_request', 'member "params" is neither an array nor an object')
  }
  return { id: id ?? null, method, params }
}

/** The id that the answer of a call carries. */
function idOf(element: unknown): Id {
  const id = (element as { readonly id?: unknown } | null)?.id
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/** A call in a batch that is well formed and carries no id: it runs, and nothing is answered. */
function isNotification(element: unknown): boolean {
  if (typeof element !== 'object' || element === null || Object.hasOwn(element, 'id')) return false
  try {
    readCall(element)
    return true
  } catch {
    return false
  }
}
