/** The JSON-RPC 2.0 engine: text in, text out. It knows methods and errors, and no transport. */
export type { Answer } from './answers.ts'
export type { Id } from './call.ts'
export { createDispatcher, type Dispatcher } from './dispatcher.ts'
export { JsonError, type JsonProblem, parseJson } from './json.ts'
export type { Callers, Checks, DispatcherOptions, HandlersOf, MethodTable } from './method-table.ts'
