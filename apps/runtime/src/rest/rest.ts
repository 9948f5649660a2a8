/** The REST twins of methods: a bearer token, a table of routes, and refusals as JSON. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Access, RpcError } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { sendJson } from '@selvedge/service-kit/http'
import { provenRequest, readToken } from '../gateway/read-token.ts'
import { sendError, sendRefusal } from '../gateway/refusal.ts'
import type { Authorize } from '../tokens/authorize.ts'

export interface RestParts {
  readonly authorize: Authorize
  /** The next DPoP nonce, for callers whose proof was refused. */
  readonly nonce: () => string
  readonly onInternalError: (cause: unknown) => string
}

type Handle = (call: {
  readonly owner: AccessClaims
  readonly id: string
  readonly query: URLSearchParams
  readonly request: IncomingMessage
  readonly response: ServerResponse
}) => Promise<unknown>

/** What is below one prefix, and what its callers must show. */
export interface Routes {
  readonly prefix: string
  readonly access: Access
  /** Method and path, with `{id}` for the id of a thing. What a handler gives is the answer; undefined where it has answered. */
  readonly table: Readonly<Record<string, Handle>>
}

/** Gives false where the path is not of this API. */
export type Rest = (request: IncomingMessage, response: ServerResponse) => boolean

export function createRest(parts: RestParts, all: readonly Routes[]): Rest {
  const prefixes = all.map(({ prefix }) => `${prefix}/`)
  const patterns = all.flatMap(({ access, table }) =>
    Object.entries(table).map(([key, handle]) => {
      const [method = '', path = ''] = key.split(' ')
      return { key, access, handle, method, path: new RegExp(`^${path.replace('{id}', '([^/]+)')}$`) }
    }),
  )

  return (request, response) => {
    const { url = '', method = '' } = request
    if (!prefixes.some((prefix) => url.startsWith(prefix))) return false
    const { pathname, searchParams: query } = new URL(url, 'http://localhost')
    const matches = patterns.filter(({ path }) => path.test(pathname))
    const match = matches.find((each) => each.method === method)
    const fail = (cause: unknown) => {
      if (request.headers.dpop !== undefined) response.setHeader('DPoP-Nonce', parts.nonce())
      request.resume()
      response.setHeader('Connection', 'close')
      sendError(response, cause, parts.onInternalError)
    }
    if (matches.length === 0)
      fail(new RpcError('not_found', `there is nothing at ${JSON.stringify(pathname.slice(0, 200))}`))
    else if (!match) {
      const allow = matches.map((each) => each.method).join(', ')
      request.resume()
      sendRefusal(response, {
        status: 405,
        reason: 'method_not_allowed',
        message: `send ${allow}`,
        headers: { Allow: allow },
      })
    } else {
      const run = async () => {
        const token = readToken(request.headers.authorization)
        if (token === undefined)
          throw new RpcError('token_missing', 'send "Authorization: Bearer <access token>"')
        const owner = await parts.authorize(token, match.access, provenRequest(request), match.key)
        const id = decodeURIComponent(match.path.exec(pathname)![1] ?? '')
        const result = await match.handle({ owner, id, query, request, response })
        if (result !== undefined) sendJson(response, 200, JSON.stringify(result))
      }
      run().catch(fail)
    }
    return true
  }
}
