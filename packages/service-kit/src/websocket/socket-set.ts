/**
 * All WebSockets of a daemon, and their limits. A connection counts as unauthenticated until its client has proved a valid token, and
 * so do those of a caller beyond its own limit. When there are too many, the one that was unused for the longest time ends, so that no
 * client locks others out by opening many; those with a call under way end last.
 */
import { safely } from '../safely/safely.ts'
import { createCallers } from './callers.ts'
import type { RpcSocket } from './rpc-socket.ts'
import type { SocketLimits } from './socket-limits.ts'

export interface SocketSet {
  /** @returns false if there is no room for another unauthenticated connection */
  makeRoom(): boolean
  add(socket: RpcSocket): void
  remove(socket: RpcSocket): void
  /** Notes that a connection was used. */
  touch(socket: RpcSocket): void
  /** @param caller that has proved a token; undefined: its token is not valid any more */
  setCaller(socket: RpcSocket, caller: string | undefined): void
  /** Ends another unauthenticated connection on which a large message arrives. @returns false if no such connection exists */
  evictReceiving(other: RpcSocket): boolean
  /** Ends all connections after their answers, or after a moment. */
  close(): Promise<void>
}

export function createSocketSet(limits: SocketLimits): SocketSet {
  const all = new Set<RpcSocket>()
  /** The longest unused first. */
  const unauthenticated = new Set<RpcSocket>()
  const callers = createCallers(limits.ofCaller)
  let checks: NodeJS.Timeout | undefined
  let onEmpty: () => void = () => undefined

  function evict(socket: RpcSocket | undefined, reason: string): boolean {
    if (!socket) return false
    remove(socket)
    socket.evict(reason)
    return true
  }

  const evictOne = (): boolean =>
    evict(
      first(unauthenticated, ({ isIdle }) => isIdle) ?? first(unauthenticated),
      'too many connections without a token',
    )

  function remove(socket: RpcSocket): void {
    all.delete(socket)
    unauthenticated.delete(socket)
    callers.remove(socket)
    if (all.size > 0) return
    clearInterval(checks)
    checks = undefined
    onEmpty()
  }

  const checkAll = safely('websocket.check', () => {
    for (const socket of [...all]) socket.check()
  })

  return {
    remove,
    makeRoom() {
      if (all.size >= limits.connections && !evictOne()) return false
      return unauthenticated.size < limits.unauthenticated || evictOne()
    },
    add(socket) {
      all.add(socket)
      unauthenticated.add(socket)
      checks ??= setInterval(checkAll, limits.pingMs).unref()
    },
    touch(socket) {
      if (unauthenticated.delete(socket)) unauthenticated.add(socket)
    },
    setCaller(socket, caller) {
      if (!all.has(socket)) return
      callers.remove(socket)
      if (caller !== undefined && callers.add(socket, caller)) {
        unauthenticated.delete(socket)
        return
      }
      unauthenticated.add(socket)
      if (unauthenticated.size > limits.unauthenticated) evictOne()
    },
    evictReceiving: (other) =>
      evict(
        first(unauthenticated, (socket) => socket !== other && socket.isReceivingLarge),
        'too many large messages at once',
      ),
    async close() {
      if (all.size === 0) return
      const emptied = new Promise<void>((resolve) => {
        onEmpty = resolve
      })
      const grace = terminateLater(all, limits.closeMs)
      for (const socket of [...all]) socket.endAfterAnswers()
      await emptied
      clearTimeout(grace)
    },
  }
}

function first<T>(of: Iterable<T>, accepts: (each: T) => boolean = () => true): T | undefined {
  for (const each of of) if (accepts(each)) return each
  return undefined
}

function terminateLater(sockets: Iterable<RpcSocket>, waitMs: number): NodeJS.Timeout {
  const terminateAll = () => {
    for (const socket of [...sockets]) socket.terminate()
  }
  return setTimeout(safely('websocket.close', terminateAll), waitMs)
}
