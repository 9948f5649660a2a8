/** One call of a request: its form, its ID, and whether it is a notification. */
import { RpcError } from '../errors/rpc-error.ts'

/** Identifier of a call. A number beyond 2^53 can't be echoed unchanged and is refused (RFC 8259 § 6). */
export type Id = string | number | null

interface Call {
  readonly id: Id
  readonly method: string
  readonly params: unknown
}

/** @throws RpcError `invalid_request` */
export function readCall(element: unknown): Call {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) {
    throw new RpcError('invalid_request', 'a call is a JSON object')
  }
  const { jsonrpc, id, method, params } = element as Record<string, unknown>
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    throw new RpcError('invalid_request', 'member "id" is neither a string nor a number nor null')
  }
  if (typeof id === 'number' && isBeyondDouble(id)) {
    throw new RpcError('invalid_request', 'member "id" is an integer beyond 2^53; send it as a string')
  }
  if (jsonrpc !== '2.0') throw new RpcError('invalid_request', 'member "jsonrpc" is not "2.0"')
  if (typeof method !== 'string') throw new RpcError('invalid_request', 'member "method" is not a string')
  if (params !== undefined && typeof params !== 'object') {
    throw new RpcError('invalid_request', 'member "params" is neither an array nor an object')
  }
  return { id: id ?? null, method, params }
}

/** The id that the answer of a call carries, also of an invalid one; null where it cannot be read (JSON-RPC 2.0 § 5). */
export function idOf(element: unknown): Id {
  const id = (element as { readonly id?: unknown } | null)?.id
  if (typeof id === 'number') return isBeyondDouble(id) ? null : id
  return typeof id === 'string' ? id : null
}

/** Whether the number may not be the one that the caller wrote. */
const isBeyondDouble = (id: number): boolean => Number.isInteger(id) && !Number.isSafeInteger(id)

/** A well-formed call of a batch without an ID: it runs, and has no answer. */
export function isNotification(element: unknown): boolean {
  if (typeof element !== 'object' || element === null || Object.hasOwn(element, 'id')) return false
  try {
    readCall(element)
    return true
  } catch {
    return false
  }
}
