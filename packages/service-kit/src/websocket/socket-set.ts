/**
 * All WebSockets of a daemon, and their limits. A connection counts as unauthenticated until its client has proved a valid token. When
 * there are too many, the one that was unused for the longest time ends, so that no client locks others out by opening many.
 */
import { safely } from '../safely/safely.ts'
import type { RpcSocket } from './rpc-socket.ts'
import type { SocketLimits } from './socket-limits.ts'

export interface SocketSet {
  /** @returns false if there is no room for another unauthenticated connection */
  makeRoom(): boolean
  add(socket: RpcSocket): void
  remove(socket: RpcSocket): void
  /** Notes that a connection was used. */
  touch(socket: RpcSocket): void
  setAuthenticated(socket: RpcSocket, isAuthenticated: boolean): void
  /** Ends all connections after their answers, or after a moment. */
  close(): Promise<void>
}

export function createSocketSet(limits: SocketLimits): SocketSet {
  const all = new Set<RpcSocket>()
  /** The longest unused first. */
  const unauthenticated = new Set<RpcSocket>()
  let checks: NodeJS.Timeout | undefined
  let onEmpty: () => void = () => undefined

  /** Ends a connection without a token and without a call under way. @returns false if there is no such connection */
  function evictOne(): boolean {
    for (const socket of unauthenticated) {
      if (!socket.isIdle) continue
      remove(socket)
      socket.evict('too many connections without a token')
      return true
    }
    return false
  }

  function remove(socket: RpcSocket): void {
    all.delete(socket)
    unauthenticated.delete(socket)
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
    setAuthenticated(socket, isAuthenticated) {
      if (!all.has(socket) || unauthenticated.has(socket) !== isAuthenticated) return
      if (isAuthenticated) {
        unauthenticated.delete(socket)
        return
      }
      unauthenticated.add(socket)
      if (unauthenticated.size > limits.unauthenticated) evictOne()
    },
    async close() {
      if (all.size === 0) return
      const emptied = new Promise<void>((resolve) => {
        onEmpty = resolve
      })
      const endAll = safely('websocket.close', () => {
        for (const socket of [...all]) socket.terminate()
      })
      const grace = setTimeout(endAll, limits.closeMs)
      for (const socket of [...all]) socket.endAfterAnswers()
      await emptied
      clearTimeout(grace)
    },
  }
}
