/** Servers of functions: a program for `node:http` that listens, and exports no handler, is the function's handler as it is. */
import { toWorker } from '@selvedge/client/function/node'
import { nodeModule } from '../sockets/node.ts'
import { watchModules } from '../watch-modules.ts'
import { replaceListen, type Slot } from './listen.ts'
import type { NodeHttp, NodeNetOfServers, NodeRequest, NodeServer } from './node.ts'

type Serve = NonNullable<ReturnType<typeof toWorker>['fetch']>

export interface Servers {
  /** To be called before the code of a function runs: prepares the modules that its source names. */
  prepare(source: string): void
  /** Whether the code has a module with which it can listen. */
  canListen(): boolean
  /** The port of the server that listens, as the function gave it. */
  port(): number | undefined
  /** No server may listen any more. @param why for the error of one that does */
  refuse(why: string): void
  /** Resolves when a server listens for the first time. */
  readonly listening: Promise<void>
  /** Gives a request to the server that listens. @throws (rejects) Error without one, and what the server fails with */
  serve: Serve
}

/** Modules with the class of servers. */
const names = ['http', '_http_server']

export function offerServers(): Servers {
  const first = Promise.withResolvers<void>()
  const slot: Slot = {
    server: undefined,
    port: 0,
    refusal: undefined,
    onListening: first.resolve,
  }
  const workers = new WeakMap<NodeServer, Serve>()
  let isReady = false
  const ready = (isNamed: (name: string) => boolean) => {
    if (isReady || !names.some(isNamed)) return
    isReady = true
    const { Server } = nodeModule<NodeHttp>('node:http')
    replaceListen(Server.prototype, nodeModule<NodeNetOfServers>('node:net'), slot)
  }
  watchModules((given) => ready((name) => name === given))

  return {
    prepare: (source) => ready((name) => source.includes(`node:${name}`)),
    canListen: () => isReady,
    port: () => slot.server && slot.port,
    refuse(why) {
      slot.refusal = why
    },
    listening: first.promise,
    async serve(request, env, ctx) {
      const { server } = slot
      if (server === undefined) throw new Error('the server of the function was closed, and no other listens')
      const serve = workers.get(server) ?? workerOf(server)
      workers.set(server, serve)
      return serve(request, env, ctx)
    },
  }
}

/** The server as a worker, which counts its connections as Node does: `close` waits for them. */
function workerOf(server: NodeServer): Serve {
  const count = ({ socket }: NodeRequest) => {
    server._connections += 1
    socket.once('close', () => {
      server._connections -= 1
      server._emitCloseIfDrained()
    })
  }
  const { fetch } = toWorker({
    rawListeners(name) {
      const own = server.rawListeners(name)
      // Not with `bind`: that is an HTTP method, and so one of express apps.
      const bound = own.map(
        (each) =>
          (...given: object[]) =>
            Reflect.apply(each, server, given),
      )
      return own.length === 0 ? own : [count, ...bound]
    },
  })
  return fetch
}
