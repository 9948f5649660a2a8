/** Finds the service that a request is for. */
import { RpcError } from '@selvedge/protocol'
import { type RequestPath, readPath } from './path.ts'
import type { Match, Routes } from './routes.ts'

export interface Target {
  readonly match: Match
  readonly path: RequestPath
}

/**
 * @param url path and query, as the client sent them
 * @throws RpcError `invalid_params`, `not_found`
 */
export function findTarget(routes: Pick<Routes, 'find'>, url: string): Target {
  const path = readPath(url)
  if (!path && url.startsWith('/'))
    throw new RpcError('invalid_params', `the path ${shown(url)} is not one that can be routed`)
  const match = path && routes.find(path.path)
  if (!match) {
    throw new RpcError('not_found', `there is nothing at ${shown(url)}`, {
      hint: 'Services are at /<clientId><base path>; getContainers shows where. The JSON-RPC API is at POST /jsonrpc/v1.',
    })
  }
  return { match, path }
}

const shown = (url: string): string => JSON.stringify(url.slice(0, 200))
