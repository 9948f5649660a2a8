/** The texts of answers: results, errors, and the answer of a batch within its limit. */
import { RpcError, type RpcErrorObject } from '../errors/rpc-error.ts'
import type { Method } from '../methods/method.ts'
import type { Id } from './call.ts'
import type { DispatcherOptions, Entry, MethodTable } from './method-table.ts'

/** An answer as text, or undefined if there were only notifications. */
export type Answer = string | undefined

export interface Answers<Context> {
  /** The error of a call. A failure that is no RpcError is reported, and its cause is not shown. */
  failure(id: Id, cause: unknown, method?: string, context?: Context): string
  success(id: Id, entry: Entry<Context>, result: unknown, context: Context): string
  /** The answer of a batch. @param ids one for each answer */
  batch(answers: readonly string[], ids: readonly Id[]): Answer
}

/** Characters of an answer that a batch always carries: what a call changed must be confirmed. */
const alwaysSentLength = 1024
const defaultBatchLength = 512 * 1024

type AnswerOptions<Context> = Pick<
  DispatcherOptions<MethodTable, object, Context>,
  'explain' | 'onInternalError' | 'onAnswer' | 'mirror' | 'limits'
>

export function createAnswers<Context>(options: AnswerOptions<Context>): Answers<Context> {
  const { onAnswer } = options
  const maxBatchLength = options.limits.batchAnswer ?? defaultBatchLength

  function failure(id: Id, cause: unknown, method = '', context?: Context): string {
    const known = cause instanceof RpcError && cause.reason !== 'internal_error'
    const error: RpcErrorObject = known
      ? cause.toObject()
      : (
          options.explain?.(cause) ??
          new RpcError('internal_error', 'the server failed while it ran this call')
        ).toObject(report(method, cause, context))
    if (context !== undefined) onAnswer?.(method, error.data.reason, context)
    return JSON.stringify({ id, jsonrpc: '2.0', error })
  }

  /** If the report fails, the caller still gets its answer. */
  function report(method: string, cause: unknown, context: Context | undefined): string {
    try {
      return options.onInternalError(method, cause, context)
    } catch {
      return 'not-logged'
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

  return {
    failure,
    /** The text of a frozen result is cached: a handler that returns the same object again costs no serialization. */
    success(id, entry, result, context) {
      try {
        const text =
          entry.last !== undefined && entry.last.result === result
            ? entry.last.text
            : textOf(entry.method, result)
        if (Object.isFrozen(result) && typeof result === 'object') entry.last = { result, text }
        onAnswer?.(entry.method.name, undefined, context)
        return `{"id":${typeof id === 'string' ? JSON.stringify(id) : id},"jsonrpc":"2.0",${text}}`
      } catch (cause) {
        return failure(id, cause, entry.method.name, context)
      }
    },
    batch(answers, ids) {
      if (answers.length === 0) return undefined
      let leftLength = maxBatchLength
      const fitting = answers.map((answer, at) => {
        if (answer.length <= alwaysSentLength) return answer
        if (answer.length <= leftLength) {
          leftLength -= answer.length
          return answer
        }
        const detail = `the call ran, and its answer of ${answer.length} characters is left out: the answers of a batch may have ${maxBatchLength} together`
        const hint = 'Send the call in a request of its own.'
        return failure(ids[at]!, new RpcError('limit_exceeded', detail, { hint }))
      })
      return `[${fitting.join(',')}]`
    },
  }
}
