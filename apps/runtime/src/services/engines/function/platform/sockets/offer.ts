/**
 * Sockets of functions: `node:net`, `node:tls` and what uses them (`node:http`, `node:https`, clients of databases and brokers), and
 * `connect()` of the Sockets API. The modules are those of the platform; what is replaced is where a socket connects to.
 */
import { watchModules } from '../watch-modules.ts'
import { createConnect } from './connect.ts'
import {
  type ConnectOptions,
  type NodeNet,
  type NodeSecureSocket,
  type NodeSocket,
  type NodeTls,
  nodeModule,
} from './node.ts'
import { connectPlain } from './plain.ts'
import { connectSecure, findReplace, holdBack } from './secure.ts'
import { type OpenTunnel, systemError } from './tunnel.ts'

/** Modules that open connections, and those that encrypt them. */
const plain = ['net', 'http', '_http_agent', '_http_client']
const encrypted = ['tls', 'https', 'http2', '_tls_wrap']

export interface Sockets {
  /** To be called before the code of a function runs: prepares the modules that its source names. */
  prepare(source: string): void
}

/** Gives the function `connect()`, and modules that connect through the runtime. Nothing is loaded before it is needed. */
export function offerSockets(open: OpenTunnel): Sockets {
  const readySockets = once(() => replaceConnect(open))
  const readyTls = once(replaceInit)
  const ready = (isNamed: (name: string) => boolean) => {
    if (encrypted.some(isNamed)) readyTls()
    if ([...plain, ...encrypted].some(isNamed)) readySockets()
  }
  watchModules((given) => ready((name) => name === given))
  const prepareConnect = (isSecure: boolean) => {
    if (isSecure) readyTls()
    readySockets()
  }
  define(globalThis, 'connect', createConnect(prepareConnect))
  return { prepare: (source) => ready((name) => source.includes(`node:${name}`)) }
}

function once(task: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    task()
  }
}

const define = (target: object, name: string, value: unknown) =>
  Object.defineProperty(target, name, { value, writable: true, enumerable: false, configurable: true })

function replaceConnect(open: OpenTunnel): void {
  const net = nodeModule<NodeNet>('node:net')
  const { prototype } = net.Socket
  const { connect: connectBefore } = prototype
  let secure: ReturnType<typeof findReplace> | undefined
  /** A TLS socket exists, so its module is loaded. */
  const replace = () => (secure ??= findReplace(nodeModule<NodeTls>('node:tls')))

  prototype.connect = function (this: NodeSocket, ...given: unknown[]) {
    const normalized = Array.isArray(given[0]) ? given[0] : net._normalizeArgs(given)
    const [options, listener] = normalized as [ConnectOptions, (() => void) | null]
    // Node's own error for a call without a target.
    if (options.port === undefined && options.path == null) return connectBefore.apply(this, given)
    if (options.path) refusePath(this, String(options.path))
    else if (this.encrypted) connectSecure(this as NodeSecureSocket, options, net, replace())
    else connectPlain(this, options, open)
    if (typeof listener === 'function') this.once('connect', listener)
    return this
  }
}

/** Functions have no files, and so no Unix sockets. */
function refusePath(socket: NodeSocket, path: string): void {
  socket.connecting = true
  const refuse = () =>
    socket.destroy(systemError('EACCES', 'connect', `${path}: functions have no Unix sockets`))
  Promise.resolve().then(refuse)
}

/** TLS over a socket that exists: what begins in the clear, proxies, streams of the function. */
function replaceInit(): void {
  const { prototype } = nodeModule<NodeTls>('node:tls').TLSSocket
  const { _init: init } = prototype
  prototype._init = function (this: NodeSecureSocket, socket, wrap) {
    init.call(this, socket, wrap)
    if (wrap?.stream) holdBack(this, wrap.stream)
  }
}
