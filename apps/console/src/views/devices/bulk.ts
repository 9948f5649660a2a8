/** Changes many devices: in calls of as many as one call may have. */
import { type BulkResult, maxBulkDevices } from '@selvedge/protocol/console'
import { reasonOf } from '../../api.ts'
import { explain } from '../../failures.ts'

export type BulkCall = (nodeIds: string[]) => Promise<BulkResult>

/** @throws what the first call throws; what a later one throws is the reason for the devices that are left */
export async function changeAll(nodeIds: readonly string[], call: BulkCall): Promise<BulkResult> {
  const done: string[] = []
  const failed: BulkResult['failed'] = []
  for (let at = 0; at < nodeIds.length; at += maxBulkDevices) {
    try {
      const result = await call(nodeIds.slice(at, at + maxBulkDevices))
      done.push(...result.done)
      failed.push(...result.failed)
    } catch (cause) {
      if (at === 0) throw cause
      const why = { reason: reasonOf(cause) ?? 'failed', message: await explain(cause) }
      failed.push(...nodeIds.slice(at).map((nodeId) => ({ nodeId, ...why })))
      break
    }
  }
  return { done, failed }
}
