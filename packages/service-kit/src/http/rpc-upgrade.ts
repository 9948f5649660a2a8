/** Requests for a WebSocket: those for calls go to the sockets of the API, and all others to what serves the other paths. */
import type { RpcSockets } from '../websocket/rpc-sockets.ts'
import { type Refusal, readGuardedHeaders } from './guard.ts'
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
  const upgrade: NonNullable<Listener['upgrade']> = (request, socket, head) => {
    const headers = readGuardedHeaders(request)
    const serve =
      sockets && isSocketPath(request.url)
        ? () => sockets.upgrade({ request, socket: request.socket, head, headers, overTls })
        : others && (() => others(request, socket, head))
    const refused =
      gate.check(request, headers) ?? (serve && shedder.isBusy(request.socket) ? overloaded : undefined)
    if (refused || !serve) refuseUpgrade(request, socket, refused ?? notFound)
    else serve()
  }
  return upgrade
}
