/** Gets a small JSON document from a server that a user of this service named. */
import { parseJson } from '@selvedge/protocol/jsonrpc'
import { createGuardedRequest, type GuardedOptions } from './guarded-request.ts'

/** Objects and lists in each other. */
const maxDepth = 16

/**
 * @returns a function that gets strict JSON from a URL, as {@link createGuardedRequest} sends requests
 * @throws (the function) Error with the reason and the value
 */
export function createGuardedGet(options: GuardedOptions): (url: string) => Promise<unknown> {
  const send = createGuardedRequest(options)
  return async (url) => {
    const { status, body } = await send(url, { method: 'GET', headers: {} })
    if (status !== 200) throw new Error(`${url} answered HTTP ${status}`)
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body), maxDepth)
  }
}
