/** The messages of a stream of events, which a hostile runtime may have written. */
import { catalogue, type Reason, type RuntimeEvent, type StreamEnd, topics } from '@selvedge/protocol'
import { ConnectionFailure, RpcFailure } from '../errors.ts'
import { parse } from './streams.ts'

export interface Message {
  readonly name: string
  readonly data: unknown
}

/** @returns reads a line, and gives the message that it ends; throws ConnectionFailure if its data is not JSON */
export function createMessageReader(): (line: string) => Message | undefined {
  let name = ''
  let data: string | undefined
  return (line) => {
    if (line.startsWith('event: ')) name = line.slice(7)
    else if (line.startsWith('data: ')) data = line.slice(6)
    if (line !== '' || data === undefined) return undefined
    const message = { name, data: parse(data, 'an event') }
    data = undefined
    return message
  }
}

/**
 * @returns undefined for a topic of a later version
 * @throws ConnectionFailure unless it has its topic and data
 */
export function eventOf(name: string, value: unknown): RuntimeEvent | undefined {
  if (!Object.hasOwn(topics, name)) return undefined
  const { topic, data } = (value ?? {}) as { readonly topic?: unknown; readonly data?: unknown }
  if (topic === name && data !== undefined) return value as RuntimeEvent
  throw new ConnectionFailure('bad_answer', `the runtime sent an event of ${name} without its topic and data`)
}

/** @throws RpcFailure unless the runtime stops */
export function endWith(value: unknown): void {
  const { reason, detail } = (value ?? {}) as Partial<Record<keyof StreamEnd, unknown>>
  if (typeof reason !== 'string' || typeof detail !== 'string' || !Object.hasOwn(catalogue, reason)) return
  const { code, hint, retryable } = catalogue[reason as Reason]
  throw new RpcFailure({ code, message: detail, data: { reason: reason as Reason, detail, hint, retryable } })
}
