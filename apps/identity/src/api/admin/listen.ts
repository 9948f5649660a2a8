import { type AdminMethods, adminMethods } from '@selvedge/protocol/admin'
import { createDispatcher } from '@selvedge/protocol/jsonrpc'
import {
  type CallContext,
  createRpcListener,
  type Listening,
  listenUnix,
  requestIdOf,
} from '@selvedge/service-kit/http'
import { errorIdOf, type Log } from '@selvedge/service-kit/log'
import type { Changes } from '../../storage/changes/changes.ts'
import { explainFailure } from '../explain-failure.ts'
import type { AdminCallers } from './context.ts'
import type { createAdminHandlers } from './handlers.ts'

/** The operator's socket. A process that can open it is the operator, so only the owner of the state folder can. */
export function openAdmin(
  path: string,
  handlers: ReturnType<typeof createAdminHandlers>,
  { changes, log }: { readonly changes: Pick<Changes, 'ensureFresh'>; readonly log: Log },
): Promise<Listening> {
  const dispatcher = createDispatcher<AdminMethods, AdminCallers, CallContext>({
    methods: adminMethods,
    handlers,
    // Like all other requests, a call is refused while what this process knows may be outdated.
    checks: { operator: async () => void (await changes.ensureFresh()) },
    mirror: false,
    limits: { depth: 32, batch: 100, isStored: true },
    explain: explainFailure,
    onInternalError: (method, cause, context) =>
      errorIdOf(log, 'an admin method failed', {
        method,
        ...(context && { requestId: requestIdOf(context.request) }),
        cause,
      }),
  })
  const guard = { port: undefined, allowedOrigins: [] }
  const listener = createRpcListener({ dispatcher, guard, maxBody: 65_536 })
  return listenUnix(path, 0o600, {}, listener)
}
