/**
 * The contract of Selvedge: methods of the local API, HTTP shapes, errors, tokens. It imports the schema library
 * and nothing else, and knows no transport, no clock and no key.
 */
export * from './apps/app-secrets.ts'
export { configBytes } from './apps/config-content.ts'
export * from './apps/plan.ts'
export * from './apps/read-plan/read-plan.ts'
export type { AppRecord } from './apps/records.ts'
export { catalogue, messages, type Reason, reasons } from './errors/catalogue.ts'
export { OAuthError, type OAuthErrorCode, oauthErrors } from './errors/oauth.ts'
export { RpcError, type RpcErrorObject } from './errors/rpc-error.ts'
export * from './events/topics.ts'
export {
  consoleCookies,
  isConsoleCookie,
  withoutConsoleCookies,
} from './http/console-cookies.ts'
export * from './http/discovery.ts'
export * from './http/identity.ts'
export { readFixes } from './http/read-fixes.ts'
export { readCron } from './mcm/cron.ts'
export { describeEndReason, type EndReason } from './mcm/end-reasons.ts'
export {
  type Conditions,
  expectedRules,
  type GrantRule,
  loopbackPort,
  readAddressRule,
  readDeviceRule,
  readMountRule,
  readNetworkRule,
  readPortRules,
} from './mcm/grant-rules.ts'
export { httpPorts, isHttpPort } from './mcm/http-ports.ts'
export * from './mcm/outbound.ts'
export * from './mcm/paths.ts'
export * from './mcm/ports.ts'
export * from './mcm/records.ts'
export type { RunOutcome, ScheduleRecord } from './mcm/schedule.ts'
export * from './mcm/services.ts'
export * from './mcm/settings.ts'
export { type ContainerState, containerStates, countStates, describeState } from './mcm/states.ts'
export { maxAppBodyBytes } from './methods/apps.ts'
export { type ContainerSpec, containerSpec, expectedSpec } from './methods/containers.ts'
export { expectFromServices, type FromServices, type ServiceSetting } from './methods/from-services.ts'
export { type GpsSignal, gpsRanges, readGpsSignal } from './methods/gps.ts'
export { expectedImageName, imageName } from './methods/images.ts'
export { type MethodName, type Methods, methods } from './methods/index.ts'
export {
  type Access,
  detailsOf,
  type InputOf,
  type Method,
  type Param,
  type ParamsOf,
  type PersonAccess,
  type ResultOf,
  type TokenAccess,
  withParamOrder,
} from './methods/method.ts'
export { type NodeOptions, nodeOptions, nodesResult, type TrackOptions } from './methods/nodes.ts'
export {
  describeNotice,
  describeNoticeReason,
  type Notice,
  type NoticeReason,
  noticeNames,
  noticeReasons,
} from './methods/notices.ts'
export { maxSecretBytes, type SecretRecord } from './methods/secrets.ts'
export { nodeIdPattern } from './methods/values.ts'
export { commonReasons, openRpcDocument, reasonsOf } from './openrpc.ts'
export * from './presence.ts'
export type { SimulationFigures, SimulationReport } from './simulation.ts'
/** Version of the software, as getMe shows it. */
export const version = '0.1.0'
/** Path of the local JSON-RPC endpoint. */
export const rpcPath = '/jsonrpc/v1'
/** Where older runtimes of this API family have JSON-RPC over WebSocket; {@link rpcPath} has it as well. */
export const formerSocketPath = '/ws/edge-service-api/v1'
/** Checks of a runtime by a supervisor: whether it answers, and whether requests should be sent to it. */
export const healthPaths = { health: '/healthz', ready: '/readyz' } as const
/** Path of the server-sent events of a runtime. */
export const eventsPath = '/jsonrpc/v1/events'
/** Path of the OpenRPC document. */
export const openRpcPath = '/jsonrpc/v1/openrpc.json'
