/** Which connections count for which caller, up to a limit. */
import { createWorkCounts, type EndWork } from '../work/work-count.ts'
import type { RpcSocket } from './rpc-socket.ts'

/** @param max connections of one caller */
export function createCallers(max: number) {
  const counts = createWorkCounts()
  const ends = new Map<RpcSocket, EndWork>()
  return {
    /** @returns false if the caller has too many already */
    add(socket: RpcSocket, caller: string): boolean {
      if (counts.of(caller) >= max) return false
      ends.set(socket, counts.begin(caller))
      return true
    },
    remove(socket: RpcSocket): void {
      ends.get(socket)?.()
      ends.delete(socket)
    },
  }
}
