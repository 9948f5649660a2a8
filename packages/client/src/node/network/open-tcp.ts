/**
 * A TCP connection to a name with several addresses (RFC 8305): the families take turns, the next address is tried 250 ms after
 * the one before or at once when that fails, and **all attempts continue** while another is tried: a path that needs a second is slow, not
 * broken. Node's own way gives up each address but the last one after 250 ms.
 */
import type { LookupAddress } from 'node:dns'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { sharedLookup } from './shared-lookup.ts'

/** Milliseconds from one attempt to the next (RFC 8305 § 5, Connection Attempt Delay). */
const attemptDelayMs = 250
/** Addresses of one name that are tried: a name server may send hundreds. */
const maxAddresses = 8

export interface TcpTarget {
  /** Name or address, without brackets. */
  readonly host: string
  readonly port: number
  readonly allowHalfOpen?: boolean
  /** Gives the addresses that may be connected to. Default: those of the system, one question at a time for a name. */
  readonly lookup?: LookupFunction | undefined
  /** Absent: the signal is the limit. */
  readonly timeoutMs?: number
  /** Gives up. */
  readonly signal?: AbortSignal | undefined
}

/**
 * @returns the first connection that is open; the others are closed. Its user handles its errors from the turn on in which it gets it
 * @throws Error of the lookup, of the last attempt that failed, ETIMEDOUT, or the reason of the signal
 */
export function openTcp(target: TcpTarget): Promise<Socket> {
  const { host, port, timeoutMs, signal } = target
  return new Promise((resolve, reject) => {
    let late: NodeJS.Timeout | undefined
    const race = createRace(target, settle)
    if (timeoutMs !== undefined)
      late = setTimeout(() => {
        const why = `no connection to ${host}:${port} within ${timeoutMs / 1000} s`
        settle(Object.assign(new Error(why), { code: 'ETIMEDOUT' }))
      }, timeoutMs)
    signal?.addEventListener('abort', abort, { once: true })
    function abort(): void {
      settle(signal?.reason)
    }
    function settle(outcome: Socket | Error): void {
      clearTimeout(late)
      signal?.removeEventListener('abort', abort)
      race.end(outcome)
      if (outcome instanceof Error) reject(outcome)
      else resolve(outcome)
    }
    if (signal?.aborted) return abort()
    resolveAll(target).then(race.start, settle)
  })
}

/** @param settle called once, with the first connection, or with an error after the last attempt */
function createRace(
  { port, allowHalfOpen = false }: TcpTarget,
  settle: (outcome: Socket | Error) => void,
): { start(addresses: readonly LookupAddress[]): void; end(winner: unknown): void } {
  const sockets = new Set<Socket>()
  let waiting: LookupAddress[] = []
  let next: NodeJS.Timeout | undefined
  let isOver = false

  function tryNext(): void {
    clearTimeout(next)
    const address = waiting.shift()
    if (isOver || !address) return
    const socket = connect({ host: address.address, port, allowHalfOpen })
    sockets.add(socket)
    socket.once('connect', () => {
      if (!isOver) settle(socket)
    })
    // Stays: one that lost the race, or its user gave up, has no other listener.
    socket.on('error', (cause) => {
      sockets.delete(socket)
      if (isOver) return
      if (waiting.length > 0) tryNext()
      else if (sockets.size === 0) settle(cause)
    })
    if (waiting.length > 0) next = setTimeout(tryNext, attemptDelayMs)
  }

  return {
    start(addresses) {
      waiting = takeTurns(addresses).slice(0, maxAddresses)
      tryNext()
    },
    end(winner) {
      isOver = true
      clearTimeout(next)
      for (const each of sockets) if (each !== winner) each.destroy()
    },
  }
}

/** The addresses in their order, but with the families in turn (RFC 8305 § 4). */
export function takeTurns(addresses: readonly LookupAddress[]): LookupAddress[] {
  const [first] = addresses
  if (!first) return []
  const preferred = addresses.filter(({ family }) => family === first.family)
  const others = addresses.filter(({ family }) => family !== first.family)
  return preferred
    .flatMap((each, at) => [each, ...others.slice(at, at + 1)])
    .concat(others.slice(preferred.length))
}

/** @throws Error of the lookup, or ENOTFOUND without an address */
function resolveAll({ host, lookup = sharedLookup }: TcpTarget): Promise<readonly LookupAddress[]> {
  const kind = isIP(host)
  if (kind !== 0) return Promise.resolve([{ address: host, family: kind }])
  return new Promise((resolve, reject) => {
    lookup(host, { all: true }, (cause, found, family) => {
      const all = typeof found === 'string' ? [{ address: found, family: family ?? isIP(found) }] : found
      if (cause) reject(cause)
      else if (!all || all.length === 0)
        reject(Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' }))
      else resolve(all)
    })
  })
}
