/** Begins requests to other programs, with the connections of an agent of `Outbound`. */
import { type Agent, type ClientRequest, request as httpRequest, type RequestOptions } from 'node:http'

/**
 * As `request` of `node:http` and `node:https`, but never with an agent of Node, which gives up each address after 250 ms.
 *
 * @param options `timeoutMs` until the connection must be open
 */
export function startRequest(
  url: URL | string,
  options: RequestOptions & { readonly agent: Agent; readonly timeoutMs?: number | undefined },
): ClientRequest {
  const { protocol } = typeof url === 'string' ? new URL(url) : url
  const start = protocol === 'https:' ? process.getBuiltinModule('node:https').request : httpRequest
  return start(url, options)
}
