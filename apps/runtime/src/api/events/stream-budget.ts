/** How many streams a caller has, and all callers together. */
import { RpcError, streamLimits } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { callerOf } from '../caller.ts'

export interface StreamBudget {
  /** Counts one stream more. @returns what to call once at its end @throws RpcError `limit_exceeded`, `busy` */
  take(owner: AccessClaims): () => void
}

export function createStreamBudget(): StreamBudget {
  const callers = new Map<string, number>()
  let all = 0
  return {
    take(owner) {
      const caller = callerOf(owner)
      const own = callers.get(caller) ?? 0
      if (own >= streamLimits.ofCaller)
        throw new RpcError(
          'limit_exceeded',
          `this caller has ${own} streams; at most ${streamLimits.ofCaller} are allowed`,
          { hint: 'End a stream first. One stream can have all topics.' },
        )
      if (all >= streamLimits.all)
        throw new RpcError('busy', `the runtime has ${all} streams; at most ${streamLimits.all} are allowed`)
      all++
      callers.set(caller, own + 1)
      return () => {
        all--
        const left = callers.get(caller)! - 1
        if (left > 0) callers.set(caller, left)
        else callers.delete(caller)
      }
    },
  }
}
