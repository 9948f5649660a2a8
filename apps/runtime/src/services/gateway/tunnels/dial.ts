/** Opens the connection of a function: to a host of the outside through the proxy of the settings, else directly. */
import { isIP, type Socket } from 'node:net'
import { guardedLookup, kindOf, type Resolve } from '@selvedge/service-kit/addresses'
import type { Network } from '@selvedge/service-kit/network'
import type { Target } from './target.ts'

/** A connection that is being opened. */
export interface Dialled {
  /** The open connection; its user closes it. @throws (it rejects with) Error of the connection */
  readonly opened: Promise<Socket>
  /** Gives up. `opened` settles: at once for a direct connection, at its time limit for one through a proxy. */
  cancel(): void
}

interface Ways {
  readonly network: Pick<Network, 'connectTo'>
  readonly resolve: Resolve
}

/** Milliseconds without data until TCP probes the connection. */
const probeMs = 60_000

/** The address that is checked is the address that is connected to, as for `fetch`. */
export function dial(target: Target, { network, resolve }: Ways): Dialled {
  const isPublic = (address: string): boolean => kindOf(address) === 'public'
  const lookup = guardedLookup(isPublic, resolve, 'list the address itself if it is meant')
  // An address of the own network is reached directly: proxies lead out of it.
  const isDirect = isIP(target.host) !== 0 && !isPublic(target.host)
  const given = new AbortController()
  const opening = network.connectTo({
    ...target,
    ...{ lookup, isDirect, signal: given.signal },
  })
  const opened = opening.then((socket) => socket.setNoDelay(true).setKeepAlive(true, probeMs))
  return {
    opened,
    cancel() {
      given.abort(Object.assign(new Error('it was given up'), { code: 'ECONNRESET' }))
    },
  }
}
