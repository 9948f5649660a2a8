/** Load shedding for JSON-RPC: by method, as each declares it, so that no handler has to remember. */
import type { Socket } from 'node:net'
import type { Callers, DispatcherOptions, HandlersOf, MethodTable } from '@selvedge/protocol/jsonrpc'
import { createLimitedWork } from '../work/limited-work.ts'
import { busyError, type LoadShedder } from './load-shedder.ts'

/** What the transport passes with a call, and what a refusal passes back to the transport. */
export interface ShedContext {
  readonly socket: Socket
  /** Whether a call was refused with `busy`: the answer then carries `Retry-After`. */
  isBusy?: boolean
}

type Shed<Table extends MethodTable, Of extends Callers, Context> = Pick<
  DispatcherOptions<Table, Of, Context>,
  'methods' | 'handlers' | 'admit'
>

/**
 * The options of a dispatcher that refuses ordinary calls with `busy` while the daemon is overloaded, or while as many calls of
 * the same method are under way as its {@link createLimitedWork limit} allows. A method is ordinary unless it declares
 * itself vital.
 */
export function shedCalls<Table extends MethodTable, Of extends Callers, Context extends ShedContext>(
  shedder: LoadShedder,
  { methods, handlers, admit }: Shed<Table, Of, Context>,
): Shed<Table, Of, Context> {
  const limited = Object.entries(handlers).map(([name, handler]) => [
    name,
    methods[name]?.priority === 'vital' ? handler : limitCalls(name, handler),
  ])
  return {
    methods,
    handlers: Object.fromEntries(limited) as HandlersOf<Table, Of, Context>,
    admit(method, context) {
      if (method.priority !== 'vital' && shedder.isBusy(context.socket)) refuse(context)
      admit?.(method, context)
    },
  }
}

function refuse(context: ShedContext): never {
  context.isBusy = true
  throw busyError
}

type Handler<Context> = (params: unknown, caller: unknown, context: Context) => unknown

function limitCalls<Context extends ShedContext>(name: string, handler: Handler<Context>): Handler<Context> {
  const calls = createLimitedWork({ announced: { kind: 'calls', name } })
  return (params, caller, context) => {
    if (!calls.hasRoom()) refuse(context)
    return calls.run(() => handler(params, caller, context))
  }
}
