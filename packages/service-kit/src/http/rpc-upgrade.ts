/** Requests for a WebSocket: those for calls go to the sockets of the API, and all others to what serves the other paths. */
import type { IncomingMessage } from 'node:http'
import type { RpcSockets } from '../websocket/rpc-sockets.ts'
import { type GuardedHeaders, type Refusal, readGuardedHeaders } from './guard.ts'
import { busyMessage, type LoadShedder } from './load-shedder.ts'
import { isSocketPath, type PageGate } from './page-gate.ts'
import { refuseUpgrade } from './refuse-upgrade.ts'
import type { Listener } from './server.ts'

export interface UpgradeParts {
  readonly gate: PageGate
  readonly shedder: LoadShedder
  readonly overTls: boolean
  /** Calls over WebSocket; absent: HTTP only. */
  readonly sockets: RpcSockets | undefined
  /** For all other paths; absent: 404. */
  readonly others: Listener['upgrade']
}

const notFound: Refusal = { status: 404, reason: 'not_found', message: 'there is no WebSocket at this path' }
const overloaded: Refusal = { status: 503, reason: 'busy', message: busyMessage }

export function createUpgrade({ gate, shedder, overTls, sockets, others }: UpgradeParts) {
  const refusalOf = (request: IncomingMessage, headers: GuardedHeaders): Refusal | undefined => {
    const refused = gate.check(request, headers)
    if (refused) return refused
    if (!others && !(sockets && isSocketPath(request.url))) return notFound
    return shedder.isBusy(request.socket) ? overloaded : undefined
  }

  const upgrade: NonNullable<Listener['upgrade']> = (request, socket, head) => {
    const headers = readGuardedHeaders(request)
    const refused = refusalOf(request, headers)
    if (refused) refuseUpgrade(request, socket, refused)
    else if (sockets && isSocketPath(request.url))
      sockets.upgrade({ request, socket: request.socket, head, headers, overTls })
    else others?.(request, socket, head)
  }
  return upgrade
}
