import { type NoticeReason, RpcError } from '@selvedge/protocol'
import type { Notices } from '../../device/node/notices.ts'
import type { Engine } from './engine.ts'

/** The same engine, with a notice in `getMe` from a start that it refused with `engine_unavailable` until it works again. */
export function withNotice(engine: Engine, reason: NoticeReason, notices: Notices): Engine {
  return {
    ...engine,
    async start(plan) {
      try {
        const instance = await engine.start(plan)
        notices.clear(reason)
        return instance
      } catch (cause) {
        if (cause instanceof RpcError && cause.reason === 'engine_unavailable')
          notices.raise(reason, { id: plan.id, cause })
        throw cause
      }
    },
    async describe() {
      const report = await engine.describe()
      if (report.available) notices.clear(reason)
      return report
    },
  }
}
