/**
 * `node:dns` of a function: it has no name server. Addresses are answered as what they are; a name is refused with a code that packages know, and the
 * runtime resolves names where a function connects.
 */
import { afterEvents, nodeModule } from './sockets/node.ts'

/** Marks `lookup`: where a function connects, the runtime finds the address in its place. */
export const leftToRuntime = Symbol('left to the runtime')

const custom = Symbol.for('nodejs.util.promisify.custom')

type Call = (...given: unknown[]) => unknown

interface Dns {
  readonly promises: object
  readonly [name: string]: unknown
}

interface LookupOptions {
  readonly all?: boolean
}

/** The methods of Node.js that query a name server. */
const resolvers =
  `resolve resolve4 resolve6 resolveAny resolveCaa resolveCname resolveMx resolveNaptr resolveNs resolvePtr resolveSoa
  resolveSrv resolveTxt reverse`.split(/\s+/)

const refused = (syscall: string, hostname: unknown): Error =>
  Object.assign(
    new Error(
      `${syscall} ENOTFOUND ${String(hostname).slice(0, 253)}: a function has no name server. Connect to the name: the runtime resolves the hosts of MCM.OUTBOUND`,
    ),
    { errno: -3008, code: 'ENOTFOUND', syscall, hostname },
  )

function lookUp(hostname: unknown, options: unknown): unknown {
  const { isIP } = nodeModule<{ isIP(text: string): number }>('node:net')
  const family = isIP(String(hostname))
  if (family === 0) throw refused('getaddrinfo', hostname)
  const found = { address: hostname, family }
  return (options as LookupOptions | undefined)?.all ? [found] : found
}

export function createNames(): Dns {
  const platform = nodeModule<Dns>('node:dns')
  const queries: Record<string, Call> = {}
  for (const name of resolvers)
    queries[name] = (hostname) => {
      throw refused(`query${name.replace('resolve', '')}`, hostname)
    }
  const promised = Object.fromEntries(
    Object.entries({ ...queries, lookup: lookUp as Call }).map(([name, query]) => [
      name,
      async (...given: unknown[]) => query(...given),
    ]),
  )
  class Resolver {
    getServers = (): readonly string[] => []
    setServers = (): void => undefined
    cancel = (): void => undefined
  }
  class CallbackResolver extends Resolver {}
  class PromiseResolver extends Resolver {}
  Object.assign(PromiseResolver.prototype, promised)
  const called = Object.fromEntries(
    Object.entries(promised).map(([name, query]) => [name, withCallback(name, query)]),
  )
  Object.assign(CallbackResolver.prototype, called)
  Object.assign(called.lookup!, { [leftToRuntime]: true, [custom]: promised.lookup })
  const servers = { getServers: () => [], setServers: () => undefined }
  return {
    ...platform,
    ...called,
    ...servers,
    Resolver: CallbackResolver,
    promises: { ...platform.promises, ...promised, ...servers, Resolver: PromiseResolver },
  }
}

function withCallback(name: string, query: (...given: unknown[]) => Promise<unknown>): Call {
  return (...given) => {
    const done = given.pop()
    if (typeof done !== 'function')
      throw Object.assign(new TypeError(`the last argument of ${name} is a function`), {
        code: 'ERR_INVALID_ARG_TYPE',
      })
    query(...given).then(
      (found) =>
        afterEvents(() => (isOne(found) ? done(null, found.address, found.family) : done(null, found))),
      (cause: unknown) => afterEvents(() => done(cause)),
    )
  }
}

const isOne = (found: unknown): found is { address: string; family: number } =>
  typeof found === 'object' && found !== null && 'address' in found
