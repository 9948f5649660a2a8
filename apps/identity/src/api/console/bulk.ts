/** A change of several devices: each is authorized, changed and recorded by itself, and one that fails stops no other. */
import { RpcError } from '@selvedge/protocol'
import type { BulkResult } from '@selvedge/protocol/console'
import { createLimiter } from '@selvedge/service-kit/http'
import { storageRefusal } from '@selvedge/service-kit/store'
import { type ConsoleContext, expectTurn, type Viewer } from './context.ts'

/** Authorizes, does and records a change of one device. @throws RpcError */
export type DeviceChange = (nodeId: string, viewer: Viewer, context: ConsoleContext) => Promise<void>

/** Calls of one account: a thousand devices at once, then a hundred in two seconds. */
const rate = { burst: 20, perSecond: 0.5 }

export type Bulk = (
  nodeIds: readonly string[],
  viewer: Viewer,
  context: ConsoleContext,
  change: DeviceChange,
) => Promise<BulkResult>

export function createBulk(): Bulk {
  const limiter = createLimiter(rate)

  return async (nodeIds, viewer, context, change) => {
    expectTurn(limiter, viewer.membership.accountId, context, 'changes of devices')
    const result: { done: string[]; failed: BulkResult['failed'] } = { done: [], failed: [] }
    // One after the other: a call uses no more of the store than one caller.
    for (const nodeId of new Set(nodeIds)) {
      try {
        await change(nodeId, viewer, context)
        result.done.push(nodeId)
      } catch (cause) {
        const refusal = cause instanceof RpcError ? cause : storageRefusal(cause)
        if (!refusal) throw cause
        result.failed.push({ nodeId, reason: refusal.reason, message: refusal.message })
      }
    }
    return result
  }
}
