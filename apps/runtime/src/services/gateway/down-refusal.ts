/** The refusal of a request if its service does not run and cannot be started. */
import { RpcError } from '@selvedge/protocol'
import type { Route } from '../containers/views.ts'
import type { HttpRefusal } from './refusal.ts'

const startFailures = new Set<string>(['container_failed', 'engine_unavailable', 'storage_full'])

/** A service that its owner stopped does not start by itself: a retry would not help. */
const stopped: HttpRefusal = {
  status: 503,
  reason: 'stopped',
  message: 'the service is stopped',
  hint: 'Its owner starts it with "selvedge container start".',
}
/** Only the owner of a service may see its output and why it fails. */
const failing: HttpRefusal = {
  status: 503,
  reason: 'container_failed',
  message: 'the service is down',
  hint: '"selvedge why" shows the reason to its owner.',
  headers: { 'Retry-After': '1' },
}

/** @returns undefined for a failure that does not mean that the service is down */
export function downRefusal(
  cause: unknown,
  route: Pick<Route, 'isStopped'> | undefined,
): HttpRefusal | undefined {
  if (!(cause instanceof RpcError) || !startFailures.has(cause.reason)) return undefined
  return route?.isStopped() ? stopped : failing
}
