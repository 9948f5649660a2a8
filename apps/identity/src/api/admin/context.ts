import type { AdminMethods } from '@selvedge/protocol/admin'
import type { HandlersOf } from '@selvedge/protocol/jsonrpc'
import type { CallContext } from '@selvedge/service-kit/http'

/** The caller that a handler gets, by the kind that its method declares. The operator is any process that can open the socket. */
export interface AdminCallers {
  readonly operator: undefined
}

/** Handlers of a part of the operator's API; together they have to be all of it. */
export type AdminHandlers = Partial<HandlersOf<AdminMethods, AdminCallers, CallContext>>

/** Records an action of the operator in the audit log of the account that it changes. */
export type Note = (accountId: string, action: string, subject: string, detail?: string) => Promise<void>
