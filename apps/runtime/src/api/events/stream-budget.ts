/** How many streams a caller has, and all callers together. */
import { RpcError, streamLimits } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { createWorkCounts, type EndWork } from '@selvedge/service-kit/work'
import { callerOf } from '../caller.ts'

export interface StreamBudget {
  /** Counts one stream more. @returns what to call at its end @throws RpcError `limit_exceeded`, `busy` */
  take(owner: AccessClaims): EndWork
}

export function createStreamBudget(): StreamBudget {
  const streams = createWorkCounts('streams')
  return {
    take(owner) {
      const caller = callerOf(owner)
      const own = streams.of(caller)
      if (own >= streamLimits.ofCaller)
        throw new RpcError(
          'limit_exceeded',
          `this caller has ${own} streams; at most ${streamLimits.ofCaller} are allowed`,
          { hint: 'End a stream first. One stream can have all topics.' },
        )
      const all = streams.underWay
      if (all >= streamLimits.all)
        throw new RpcError('busy', `the runtime has ${all} streams; at most ${streamLimits.all} are allowed`)
      return streams.begin(caller)
    },
  }
}
