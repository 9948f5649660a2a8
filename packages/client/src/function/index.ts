/**
 * Types of functions: what the runtime gives to a module worker and to a handler, and who calls a service for users. `./testing` calls functions in tests.
 *
 * @module
 */

export type {
  Callbacks,
  EdgeError,
  FormCallbacks,
  FormField,
  Handler,
  HandlerContext,
  HandlerEdge,
  HandlerRequest,
  HandlerResponse,
  HandlerStorage,
  HttpError,
  HttpRequest,
  HttpResult,
  NodesRequest,
  ScheduledHandler,
} from './handler.ts'
export type { ScheduledEvent, WaitUntil } from './scheduled.ts'
export type { FunctionInfo, FunctionSecrets, FunctionStorage, IdentityToken, VisitItem } from './storage.ts'
export { readUser, type ServiceUser } from './user.ts'
export type { Worker, WorkerContext } from './worker.ts'
