/**
 * The console's own API, served by the identity service to its own pages: JSON-RPC, declared like the local API. A session
 * cookie and a proof of the key of the browser say who calls.
 */
import type { InputOf } from '../methods/method.ts'
import { accountMethods } from './account.ts'
import { authorizationMethods } from './authorizations.ts'
import { companiesMethods } from './companies.ts'
import { devicesMethods } from './devices.ts'
import { issuersMethods } from './issuers.ts'
import { joinKeysMethods } from './join-keys.ts'
import { personMethods } from './person.ts'
import { projectsMethods } from './projects.ts'
import { sharesMethods } from './shares.ts'

export { describeEndReason } from '../mcm/end-reasons.ts'
export { countStates, describeState } from '../mcm/states.ts'
export { describeNoticeReason } from '../methods/notice-reasons.ts'
export type { ShownTrustedIssuer } from '../methods/trust-params.ts'
export { identityCheckSeconds, isOnline, onlineWindowMs } from '../presence.ts'
export { type AuditWords, auditWords } from './audit-words.ts'
export { deviceHistory } from './device-history.ts'
export { type DeviceFilter, deviceFilter } from './devices.ts'
export {
  type JoinKeyEnding,
  type JoinKeysMethods,
  joinKeysMethods,
  type ShownJoinKey,
  type WaitingDevice,
} from './join-keys.ts'
export * from './limits.ts'
export * from './records.ts'
export { type ServiceShare, type SharesMethods, sharesMethods } from './shares.ts'

export const consoleMethods = {
  ...personMethods,
  ...accountMethods,
  ...projectsMethods,
  ...authorizationMethods,
  ...issuersMethods,
  ...companiesMethods,
  ...devicesMethods,
  ...sharesMethods,
  ...joinKeysMethods,
} as const

/** What an owner does from the command line, with a developer ID token. */
export const accountApiMethods = { ...sharesMethods, ...joinKeysMethods } as const
export type AccountApiMethods = typeof accountApiMethods

export type ConsoleMethods = typeof consoleMethods
export type ConsoleMethodName = keyof ConsoleMethods
export type ConsoleInput<Name extends ConsoleMethodName> = InputOf<ConsoleMethods[Name]>
