/** Opens the connection of a function: to a host of the outside through the proxy of the settings, else directly. */
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { guardedLookup, kindOf, type Resolve } from '@selvedge/service-kit/addresses'
import type { Network } from '@selvedge/service-kit/network'
import { safely } from '@selvedge/service-kit/safely'
import type { Target } from './target.ts'

/** A connection that is being opened. */
export interface Dialled {
  /** The open connection; its user closes it. @throws (it rejects with) Error of the connection */
  readonly opened: Promise<Socket>
  /** Gives up. `opened` settles: at once for a direct connection, at its time limit for one through a proxy. */
  cancel(): void
}

interface Ways {
  readonly network: Pick<Network, 'tunnelTo'> | undefined
  readonly resolve: Resolve
}

/** The address that is checked is the address that is connected to, as for `fetch`. */
export function dial(target: Target, { network, resolve }: Ways): Dialled {
  const isPublic = (address: string): boolean => kindOf(address) === 'public'
  const lookup = guardedLookup(isPublic, resolve, 'list the address itself if it is meant')
  // An address of the own network is reached directly: proxies lead out of it.
  const isOutside = isIP(target.host) === 0 || isPublic(target.host)
  const tunnel = isOutside ? network?.tunnelTo({ ...target, lookup }) : undefined
  return tunnel ? { opened: tunnel, cancel: () => undefined } : directly({ ...target, lookup })
}

function directly(target: Target & { readonly lookup: LookupFunction }): Dialled {
  const socket = connect({
    ...target,
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
  })
  const opened = new Promise<Socket>((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    // Stays: a connection that is given up has no other listener.
    socket.on('error', reject)
    const onClose = () => reject(Object.assign(new Error('it was closed'), { code: 'ECONNRESET' }))
    socket.once('close', safely('tunnel.closed', onClose))
  })
  return { opened, cancel: () => void socket.destroy() }
}
