/** The REST twins of methods: a bearer token, a table of routes, and refusals as JSON. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Method, RpcError, type TokenAccess } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { sendJson } from '@selvedge/service-kit/http'
import { safely } from '@selvedge/service-kit/safely'
import type { Authorize, ExpectStillValid } from '../../device/tokens/authorize.ts'
import type { LastingAnswer, LastingAnswers } from '../../device/tokens/lasting.ts'
import { provenRequest } from '../../services/gateway/proven-request.ts'
import { sendError, sendRefusal } from '../../services/gateway/refusal.ts'
import { type QueryOf, type QueryParameters, readQuery } from './query.ts'

export interface RestParts {
  readonly authorize: Authorize
  readonly expectStillValid: ExpectStillValid
  readonly lasting: LastingAnswers
  /** Whether these callers may use a route, by its method; called before anything else is read. @throws RpcError */
  readonly expectAllowed?: ((method: TokenMethod) => void) | undefined
  /** The next DPoP nonce, sent if a proof was refused. */
  readonly nonce: () => string
  readonly onInternalError: (cause: unknown, request: IncomingMessage) => string
}

/** A method that needs a token. */
type TokenMethod = Method<string, Method['params'], Method['result'], TokenAccess>

type Handle<Query> = (call: {
  readonly owner: AccessClaims
  readonly id: string
  readonly query: Query
  /**
   * For answers that last: calls `end` when the caller loses its access.
   *
   * @param expectMore checks what else must hold. @throws RpcError
   * @returns what to call after the answer
   */
  readonly endWithCaller: (end: LastingAnswer['end'], expectMore: () => void) => () => void
  readonly request: IncomingMessage
  readonly response: ServerResponse
}) => Promise<unknown>

/** What is below one prefix. */
export interface Routes {
  readonly prefix: string
  /** By HTTP method and path, with `{id}` for the id of a thing. */
  readonly table: Readonly<Record<string, Route>>
}

interface Route {
  /** The method with the same access. The caller is checked by the declaration of this method. */
  readonly as: TokenMethod
  /** Any other query parameter is refused; so is every one if this is absent. */
  readonly query?: QueryParameters
  /** The query is checked before the token. */
  readonly readsQueryFirst?: true
  /** Other query parameters are ignored. */
  readonly ignoresUnknown?: true
  /** The result is the answer; undefined if the handler has answered. */
  readonly handle: Handle<object>
  /** Answers a caller without `Authorization`; absent: it is refused. */
  readonly withoutToken?: (query: object) => Promise<unknown>
}

/** The part of a route that has query parameters. */
export const withQuery = <P extends QueryParameters>(
  query: P,
  handle: Handle<QueryOf<P>>,
): Pick<Route, 'query' | 'handle'> => ({ query, handle: handle as Handle<object> })

/** @returns false if the path does not belong to this API */
export type Rest = (request: IncomingMessage, response: ServerResponse) => boolean

export function createRest(parts: RestParts, all: readonly Routes[]): Rest {
  const prefixes = all.map(({ prefix }) => `${prefix}/`)
  const patterns = all.flatMap(({ table }) =>
    Object.entries(table).map(([key, route]) => {
      const [method = '', path = ''] = key.split(' ')
      return {
        ...route,
        key,
        accepted: method === 'GET' ? ['GET', 'HEAD'] : [method],
        path: new RegExp(`^${path.replace('{id}', '([^/]+)')}$`),
      }
    }),
  )

  function fail(request: IncomingMessage, response: ServerResponse, cause: unknown): void {
    if (!response.headersSent) {
      if (request.headers.dpop !== undefined) response.setHeader('DPoP-Nonce', parts.nonce())
      response.setHeader('Connection', 'close')
    }
    sendError(response, cause, parts.onInternalError)
  }

  async function run(route: (typeof patterns)[number], call: Call): Promise<void> {
    const { handle, path, key, withoutToken, as } = route
    parts.expectAllowed?.(as)
    const { request, response, pathname } = call
    const answer = (result: unknown) => sendJson(response, 200, JSON.stringify(result))
    const readRouteQuery = () => readQuery(call.query, route.query ?? {}, route.ignoresUnknown)
    if (withoutToken && request.headers.authorization === undefined)
      return answer(await withoutToken(readRouteQuery()))
    if (route.readsQueryFirst) readRouteQuery()
    // One object for the whole request: a proof of the key counts for it, and is valid once.
    const proven = provenRequest(request)
    const { shown } = proven
    if (!shown) throw new RpcError('token_missing', 'send "Authorization: Bearer <access token>"')
    const verifyAgain = () => parts.authorize(shown.token, as.access, proven, key)
    const owner = await verifyAgain()
    const id = decodeId(path.exec(pathname)![1] ?? '')
    const endWithCaller = (end: LastingAnswer['end'], expectMore: () => void) => {
      const expectAllowed = () => {
        parts.expectStillValid(owner, as.access)
        expectMore()
      }
      return parts.lasting.watch({ expectAllowed, verifyAgain, end })
    }
    const result = await handle({ owner, id, query: readRouteQuery(), request, response, endWithCaller })
    if (result !== undefined) answer(result)
  }

  return (request, response) => {
    const { url = '', method = '' } = request
    if (!prefixes.some((prefix) => url.startsWith(prefix))) return false
    const { pathname, searchParams: query } = new URL(url, 'http://localhost')
    const matches = patterns.filter(({ path }) => path.test(pathname))
    const match = matches.find(({ accepted }) => accepted.includes(method))
    if (matches.length === 0) {
      const problem = `there is nothing at ${JSON.stringify(pathname.slice(0, 200))}`
      fail(request, response, new RpcError('not_found', problem))
    } else if (!match) {
      const allow = matches.flatMap(({ accepted }) => accepted).join(', ')
      const message = `send ${allow}`
      sendRefusal(response, { status: 405, reason: 'method_not_allowed', message, headers: { Allow: allow } })
    } else {
      run(match, { request, response, pathname, query }).catch(
        safely(
          'rest.fail',
          (cause: unknown) => fail(request, response, cause),
          () => response.destroy(),
        ),
      )
    }
    return true
  }
}

interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly pathname: string
  readonly query: URLSearchParams
}

/** @throws RpcError `invalid_params` for a broken percent escape */
function decodeId(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new RpcError(
      'invalid_params',
      `the id ${JSON.stringify(text.slice(0, 200))} has a broken % escape`,
      {
        cause,
      },
    )
  }
}
