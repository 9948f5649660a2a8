/** Which connections count for which caller, up to a limit. */
import type { RpcSocket } from './rpc-socket.ts'

/** @param max connections of one caller */
export function createCallers(max: number) {
  const counts = new Map<string, number>()
  const callerOf = new Map<RpcSocket, string>()
  return {
    /** @returns false if the caller has too many already */
    add(socket: RpcSocket, caller: string): boolean {
      const count = counts.get(caller) ?? 0
      if (count >= max) return false
      counts.set(caller, count + 1)
      callerOf.set(socket, caller)
      return true
    },
    remove(socket: RpcSocket): void {
      const caller = callerOf.get(socket)
      if (caller === undefined) return
      callerOf.delete(socket)
      const left = counts.get(caller)! - 1
      if (left > 0) counts.set(caller, left)
      else counts.delete(caller)
    },
  }
}
