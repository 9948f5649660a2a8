/** Finds the service that a request is for. */
import { RpcError } from '@selvedge/protocol'
import { serviceHeader } from './headers.ts'
import { type RequestPath, readPath } from './path.ts'
import type { Match, Routes } from './routes.ts'

export interface Target {
  readonly match: Match
  readonly path: RequestPath
  /** Whether the caller wants the events of the service. */
  readonly isOfEvents?: boolean
}

/** Before the path of a service: the WebSocket of its events. */
const eventsPrefix = '/ws'

/**
 * The service of an upgrade. Below `/ws/` are the events of services, and nothing else: a path there never depends on what else is
 * deployed, also for a client with the ID `ws`.
 *
 * @throws RpcError `invalid_params`, `not_found`
 */
export function findUpgradeTarget(routes: Pick<Routes, 'find'>, url: string): Target {
  const asked = readPath(url)
  if (!asked?.path.startsWith(`${eventsPrefix}/`)) return findTarget(routes, url)
  const target = findTarget(routes, asked.path.slice(eventsPrefix.length) + asked.query)
  const { route, prefix } = target.match
  const hasEvents = route.settings['MCM.WEBSOCKET_SUPPORT'] && prefix === route.prefixes[0]
  if (hasEvents) return { ...target, isOfEvents: true }
  throw new RpcError('not_found', `there are no events at ${shown(url)}`, {
    hint: 'Deploy the service with "MCM.WEBSOCKET_SUPPORT": "true"; its events are at /ws/<clientId><base path>.',
  })
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

/**
 * The service that a header names, in place of the path: a call of gRPC has the path `/<package>.<Service>/<Method>`. The service gets
 * the whole path.
 *
 * @param named value of the header: the path of the service
 * @throws RpcError `invalid_params`, `not_found`
 */
export function findNamedTarget(routes: Pick<Routes, 'find'>, url: string, named: string): Target {
  const path = readPath(url)
  if (!path) throw new RpcError('invalid_params', `the path ${shown(url)} is not one that can be routed`)
  const match = routes.find(named)
  if (match?.prefix !== named) {
    throw new RpcError('not_found', `there is no service at ${shown(named)} (header ${serviceHeader})`, {
      hint: 'Name a service by its path, /<clientId><base path>; getContainers shows it.',
    })
  }
  return { match: { route: match.route, prefix: '/', rest: path.path }, path }
}

const shown = (url: string): string => JSON.stringify(url.slice(0, 200))
