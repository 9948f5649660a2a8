/** Load shedding for JSON-RPC: by method, as each declares it, so that no handler has to remember. */
import type { Socket } from 'node:net'
import type { DispatcherOptions, Handler } from '@selvedge/protocol/jsonrpc'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import { busyError, type LoadShedder } from './load-shedder.ts'

/** What the transport tells of a call, and a refusal tells the transport. */
export interface ShedContext {
  readonly socket: Socket
  /** Whether a call was refused with `busy`: the answer then carries `Retry-After`. */
  isBusy?: boolean
}

/**
 * The options of a dispatcher that refuses ordinary calls with `busy` while the daemon is overloaded, or while as many calls of
 * the same method are under way as its {@link createConcurrencyLimit limit} allows. A method is ordinary unless it declares
 * itself vital.
 */
export function shedCalls<Context extends ShedContext>(
  shedder: LoadShedder,
  { methods, handlers, admit }: Pick<DispatcherOptions<Context>, 'methods' | 'handlers' | 'admit'>,
): Pick<DispatcherOptions<Context>, 'methods' | 'handlers' | 'admit'> {
  const limited = { ...handlers }
  for (const { name, priority } of methods) {
    const handler = handlers[name]
    if (priority !== 'vital' && handler) limited[name] = limitCalls(handler)
  }
  return {
    methods,
    handlers: limited,
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

function limitCalls<Context extends ShedContext>(handler: Handler<Context>): Handler<Context> {
  const limit = createConcurrencyLimit()
  let underWay = 0
  return (params, context) => {
    if (!limit.hasRoom(underWay)) refuse(context)
    const begunAt = performance.now()
    const result = handler(params, context)
    if (!(result instanceof Promise)) return result
    underWay++
    const end = () => {
      underWay--
      limit.ended(performance.now() - begunAt)
    }
    result.then(end, end)
    return result
  }
}
