import { RpcError } from '@selvedge/protocol'

/** Counts one more piece of expensive work of a request. @throws RpcError `limit_exceeded` if that is too many */
export type TakeFromBudget = (request: object) => void

/**
 * Limits how often one request, whose batch may hold a hundred calls, makes the runtime do work that costs about a
 * millisecond of CPU before the caller has shown who it is.
 *
 * @param most pieces of work per request
 * @param what names the work in the refusal: `HMAC codes of other nodes`
 */
export function createRequestBudget(most: number, what: string): TakeFromBudget {
  const used = new WeakMap<object, number>()
  return (request) => {
    const before = used.get(request) ?? 0
    if (before >= most)
      throw new RpcError('limit_exceeded', `one request may have ${most} ${what}; this one has more`, {
        hint: 'Send the remaining calls in another request.',
      })
    used.set(request, before + 1)
  }
}
