import { RpcError, type RpcErrorObject } from '../errors/rpc-error.ts'
import type { Method } from '../methods/method.ts'
import { readParams } from '../methods/read-params.ts'
import { type JsonError, parseJson } from './json.ts'

/** Identifier of a call. A number beyond 2^53 can't be echoed unchanged and is refused (RFC 8259 § 6). */
export type Id = string | number | null

/** Runs a method: parameters by name, and whatever the transport knows of the caller. */
export type Handler<Context> = (params: Readonly<Record<string, unknown>>, context: Context) => unknown

export interface DispatcherOptions<Context> {
  readonly methods: readonly Method[]
  /** One handler a method, by the method's name; neither may lack the other. */
  readonly handlers: Readonly<Record<string, Handler<Context>>>
  /** Called before the parameters are read; throws an RpcError to refuse. */
  readonly admit?: (method: Method, context: Context) => void
  /** Takes the cause of an `internal_error`, and gives the id that the answer carries. */
  readonly onInternalError: (method: string, cause: unknown) => string
  /** Repeat the members that a method names in `mirrored` beside `id` and `jsonrpc`. */
  readonly mirror: boolean
  readonly limits: { readonly depth: number; readonly batch: number }
}

interface Entry<Context> {
  readonly method: Method
  readonly handler: Handler<Context>
  last: { readonly result: unknown; readonly text: string } | undefined
}

/** An answer as text, or nothing where only notifications came. */
export type Answer = string | undefined

export interface Dispatcher<Context> {
  /** Answers the text of one request or batch. It never throws. */
  dispatch(text: string, context: Context): Answer | Promise<Answer>
  /** Answers something that went wrong before there was a text. */
  refuse(error: RpcError): string
}

/**
 * A JSON-RPC 2.0 server without a transport. Two departures from the specification, both for clients of this API family:
 * a lone call without `id` is answered with `"id": null` (in a batch it is a notification), and `params: null` counts as
 * absent.
 */
export function createDispatcher<Context>(options: DispatcherOptions<Context>): Dispatcher<Context> {
  const table = new Map<string, Entry<Context>>()
  for (const method of options.methods) {
    const handler = Object.hasOwn(options.handlers, method.name) ? options.handlers[method.name] : undefined
    if (!handler) throw new Error(`method ${method.name} has no handler`)
    table.set(method.name, { method, handler, last: undefined })
  }
  for (const name of Object.keys(options.handlers)) {
    if (!table.has(name)) throw new Error(`handler ${name} has no method`)
  }

  function failure(id: Id, cause: unknown, method = ''): string {
    const known = cause instanceof RpcError && cause.reason !== 'internal_error'
    const error: RpcErrorObject = known
      ? cause.toObject()
      : new RpcError('internal_error', 'the runtime failed while it ran this call').toObject(
          options.onInternalError(method, cause),
        )
    return JSON.stringify({ id, jsonrpc: '2.0', error })
  }

  /** A handler that gives the very same frozen object again is not asked for its text again. */
  function success(id: Id, entry: Entry<Context>, result: unknown): string {
    const text =
      entry.last !== undefined && entry.last.result === result
        ? entry.last.text
        : textOf(entry.method, result)
    if (Object.isFrozen(result) && typeof result === 'object') entry.last = { result, text }
    return `{"id":${typeof id === 'string' ? JSON.stringify(id) : id},"jsonrpc":"2.0",${text}}`
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
      options.admit?.(entry.method, context)
      const result = entry.handler(readParams(entry.method, call.params), context)
      if (!(result instanceof Promise)) return success(id, entry, result)
      return result.then(
        (value) => success(id, entry, value),
        (cause: unknown) => failure(id, cause, name),
      )
    } catch (cause) {
      return failure(id, cause, name)
    }
  }

  /** Answers that are there at once are put together at once: a batch of a hundred small calls waits for nothing. */
  function runBatch(batch: readonly unknown[], context: Context): Answer | Promise<Answer> {
    const answers: (string | Promise<string>)[] = []
    let isWaiting = false
    for (const element of batch) {
      const answer = run(element, context)
      if (isNotification(element)) continue
      isWaiting ||= answer instanceof Promise
      answers.push(answer)
    }
    return isWaiting ? Promise.all(answers).then(joinAnswers) : joinAnswers(answers as string[])
  }

  return {
    dispatch(text, context) {
      let value: unknown
      try {
        value = parseJson(text, options.limits.depth)
      } catch (cause) {
        const problem = cause as JsonError
        return failure(
          null,
          new RpcError(problem.problem === 'depth' ? 'limit_exceeded' : 'parse_error', problem.message),
        )
      }
      if (!Array.isArray(value)) return run(value, context)
      if (value.length === 0) return failure(null, new RpcError('invalid_request', 'the batch is empty'))
      if (value.length > options.limits.batch) {
        const detail = `the batch holds ${value.length} calls; at most ${options.limits.batch} are accepted`
        return failure(null, new RpcError('limit_exceeded', detail))
      }
      return runBatch(value, context)
    },
    refuse: (error) => failure(null, error),
  }
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
