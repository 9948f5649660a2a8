/** The JSON-RPC 2.0 engine: text in, text out. It knows methods and errors, and no transport. */
export {
  type Answer,
  type Callers,
  type Checks,
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
  type HandlersOf,
  type Id,
  type MethodTable,
} from './dispatcher.ts'
export { JsonError, type JsonProblem, parseJson } from './json.ts'
