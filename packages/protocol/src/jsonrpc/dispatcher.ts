import { RpcError } from '../errors/rpc-error.ts'
import { maxBodyBytesOf, defaultMaxBodyBytes as smallestLimit } from '../methods/method.ts'
import { readParams } from '../methods/read-params.ts'
import { type Answer, createAnswers } from './answers.ts'
import { type Id, idOf, isNotification, readCall } from './call.ts'
import { type JsonError, parseJson } from './json.ts'
import {
  type Callers,
  type DispatcherOptions,
  type MethodTable,
  type Params,
  tableOf,
} from './method-table.ts'

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
  const { limits, admit } = options
  const table = tableOf(options)
  const { failure, success, batch: joinAnswers } = createAnswers<Context>(options)
  const checkSize = createSizeCheck(options.methods)

  /** Runs one element of a request. The caller drops the answer of a notification. */
  function run(element: unknown, context: Context): string | Promise<string> {
    const id = idOf(element)
    let name = ''
    try {
      const call = readCall(element)
      name = call.method
      const entry = table.get(name)
      if (!entry)
        throw new RpcError('method_not_found', `there is no method ${JSON.stringify(name.slice(0, 80))}`)
      const { method, check, handler } = entry
      admit?.(method, context)
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
      if (!(result instanceof Promise)) return success(id, entry, result, context)
      return result.then(
        (value) => success(id, entry, value, context),
        (cause: unknown) => failure(id, cause, name, context),
      )
    } catch (cause) {
      return failure(id, cause, name, context)
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
    return isWaiting
      ? Promise.all(answers).then((ready) => joinAnswers(ready, ids))
      : joinAnswers(answers as string[], ids)
  }

  return {
    dispatch(text, context, bytes = text.length) {
      try {
        checkSize.ofBody(bytes)
        const value = parse(text, limits)
        checkSize.ofCalls(value, bytes)
        return Array.isArray(value) ? runBatch(value, context) : run(value, context)
      } catch (cause) {
        return failure(null, cause, '', context)
      }
    },
    refuse: (error) => failure(null, error),
  }
}

/** @throws RpcError `parse_error`, `limit_exceeded` (depth, calls of a batch), `invalid_request` (an empty batch) */
function parse(text: string, limits: { depth: number; batch: number; isStored?: boolean }): unknown {
  let value: unknown
  try {
    value = parseJson(text, limits.depth, limits.isStored)
  } catch (cause) {
    const { problem, message } = cause as JsonError
    throw new RpcError(problem === 'depth' ? 'limit_exceeded' : 'parse_error', message)
  }
  if (!Array.isArray(value)) return value
  if (value.length === 0) throw new RpcError('invalid_request', 'the batch is empty')
  if (value.length > limits.batch)
    throw new RpcError(
      'limit_exceeded',
      `the batch holds ${value.length} calls; at most ${limits.batch} are accepted`,
    )
  return value
}

/** Bodies have the limit of the methods that they call. @throws RpcError `limit_exceeded` */
function createSizeCheck(methods: MethodTable) {
  /** Limit of the largest body that any method accepts: a larger one is not even parsed. */
  const largestLimit = Math.max(...Object.values(methods).map(maxBodyBytesOf))
  const byName = new Map(Object.entries(methods))

  function expectWithin(bytes: number, limit: number, name?: string): void {
    if (bytes <= limit) return
    const what = name === undefined ? 'a body' : `a body with a call of ${name}`
    throw new RpcError('limit_exceeded', `the body has ${bytes} bytes; ${what} may have at most ${limit}`)
  }

  return {
    ofBody: (bytes: number): void => expectWithin(bytes, largestLimit),
    ofCalls(value: unknown, bytes: number): void {
      if (bytes <= smallestLimit) return
      for (const element of Array.isArray(value) ? value : [value]) {
        const name = (element as { method?: unknown } | null)?.method
        const method = typeof name === 'string' ? byName.get(name) : undefined
        expectWithin(bytes, method ? maxBodyBytesOf(method) : smallestLimit, method?.name)
      }
    },
  }
}
