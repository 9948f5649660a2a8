/** `connect()` of the Sockets API (WinterTC, as Workers have it), on the sockets of Node.js. */
import { type NodeNet, type NodeSecureSocket, type NodeSocket, type NodeTls, nodeModule } from './node.ts'
import { systemError, type Target } from './tunnel.ts'

interface SocketAddress {
  readonly hostname: string
  readonly port: number
}

interface SocketOptions {
  /** `off` (the default), `on`, or `starttls`: in the clear until `startTls()`. */
  readonly secureTransport?: 'off' | 'on' | 'starttls'
  /** Whether writing goes on after the other side has sent its end. */
  readonly allowHalfOpen?: boolean
}

interface TlsOptions {
  /** Name that the certificate must have, in place of the host. */
  readonly expectedServerHostname?: string
}

interface SocketInfo {
  readonly remoteAddress: string
  readonly localAddress: string | null
}

interface Socket {
  readonly readable: ReadableStream<Uint8Array>
  readonly writable: WritableStream<Uint8Array>
  /** Resolves when the connection is open. */
  readonly opened: Promise<SocketInfo>
  /** Resolves when it has closed in order, and rejects with the error that closed it. */
  readonly closed: Promise<void>
  readonly upgraded: boolean
  readonly secureTransport: NonNullable<SocketOptions['secureTransport']>
  close(): Promise<void>
  startTls(options?: TlsOptions): Socket
}

export type Connect = (address: string | SocketAddress, options?: SocketOptions) => Socket

/** @param prepare makes the modules of Node.js connect through the runtime; called before each connection, with whether it needs TLS */
export function createConnect(prepare: (isSecure: boolean) => void): Connect {
  return (address, { secureTransport = 'off', allowHalfOpen = false } = {}) => {
    const target = readAddress(address)
    if (!['off', 'on', 'starttls'].includes(secureTransport))
      throw new TypeError(
        `secureTransport is ${JSON.stringify(secureTransport)}; it is "off", "on" or "starttls"`,
      )
    prepare(secureTransport !== 'off')
    const { host, port } = target
    const raw =
      secureTransport === 'on'
        ? nodeModule<NodeTls>('node:tls').connect({ host, port, allowHalfOpen })
        : nodeModule<NodeNet>('node:net').connect({ host, port, allowHalfOpen })
    return wrap(raw, target, { secureTransport, allowHalfOpen }, false)
  }
}

/** @throws TypeError */
function readAddress(address: string | SocketAddress): Target {
  const text = typeof address === 'string' ? address : ''
  const [, name = '', digits = ''] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(text) ?? []
  const given =
    typeof address === 'object' && address !== null ? address : { hostname: name, port: Number(digits) }
  const host = String(given.hostname ?? '').replace(/^\[|\]$/g, '')
  const port = Number(given.port)
  if (host === '' || !Number.isInteger(port) || port < 1 || port > 65_535)
    throw new TypeError(
      `connect: ${JSON.stringify(address)?.slice(0, 300)} is not "host:port" or { hostname, port }`,
    )
  return { host, port }
}

function wrap(raw: NodeSocket, target: Target, options: Required<SocketOptions>, upgraded: boolean): Socket {
  const { secureTransport, allowHalfOpen } = options
  const { opened, closed } = follow(raw, target, secureTransport === 'on' ? 'secureConnect' : 'connect')
  const reading = createReadable(raw)
  const writing = createWritable(raw)
  let isUpgraded = upgraded
  return {
    readable: reading.readable,
    writable: writing.writable,
    opened,
    closed,
    get upgraded() {
      return isUpgraded
    },
    secureTransport,
    close() {
      raw.destroy()
      return closed
    },
    startTls({ expectedServerHostname = target.host } = {}) {
      if (secureTransport !== 'starttls' || isUpgraded)
        throw new TypeError('startTls needs a socket with secureTransport: "starttls", once')
      isUpgraded = true
      reading.leave()
      writing.leave()
      const isName = nodeModule<NodeNet>('node:net').isIP(expectedServerHostname) === 0
      const secure = nodeModule<NodeTls>('node:tls').connect({
        socket: raw,
        host: expectedServerHostname,
        ...(isName && { servername: expectedServerHostname }),
        allowHalfOpen,
      })
      return wrap(secure, target, { secureTransport: 'on', allowHalfOpen }, true)
    },
  }
}

function follow(raw: NodeSocket | NodeSecureSocket, { host, port }: Target, ready: string) {
  const opened = Promise.withResolvers<SocketInfo>()
  const closed = Promise.withResolvers<void>()
  // A function may wait for neither.
  opened.promise.catch(() => undefined)
  closed.promise.catch(() => undefined)
  let failure: Error | undefined
  raw.once(ready, () => opened.resolve({ remoteAddress: `${host}:${port}`, localAddress: null }))
  raw.on('error', (cause: Error) => {
    failure ??= cause
  })
  raw.once('close', () => {
    opened.reject(failure ?? systemError('ECONNRESET', 'connect', 'it was closed', { host, port }))
    if (failure) closed.reject(failure)
    else closed.resolve()
  })
  return { opened: opened.promise, closed: closed.promise }
}

/** The bytes of a socket. It reads while they are wanted. */
function createReadable(raw: NodeSocket) {
  let isOver = false
  let controller: ReadableStreamDefaultController<Uint8Array>
  const finish = (cause?: Error) => {
    if (isOver) return
    isOver = true
    if (cause) controller.error(cause)
    else controller.close()
  }
  const onData = (chunk: Uint8Array) => {
    if (isOver) return
    controller.enqueue(new Uint8Array(chunk))
    if ((controller.desiredSize ?? 0) <= 0) raw.pause()
  }
  const onEnd = () => finish()
  const onClose = () => finish()
  const readable = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given
      raw.on('error', finish)
      raw.on('end', onEnd)
      raw.on('close', onClose)
      raw.on('data', onData)
      raw.pause()
    },
    pull: () => void raw.resume(),
    cancel() {
      isOver = true
      raw.off('data', onData)
      // What still arrives is dropped, so that the other side can end.
      raw.resume()
    },
  })
  /** Another reader of the socket follows: TLS. */
  const leave = () => {
    raw.off('data', onData)
    raw.off('end', onEnd)
    raw.off('error', finish)
    raw.off('close', onClose)
    finish()
  }
  return { readable, leave }
}

function createWritable(raw: NodeSocket) {
  let isLeft = false
  const closed = () => Object.assign(new TypeError('the socket is closed'), { code: 'ERR_SOCKET_CLOSED' })
  const writable = new WritableStream<Uint8Array>({
    start(controller) {
      raw.once('close', () => controller.error(closed()))
    },
    write(chunk) {
      const bytes = copyOf(chunk)
      if (isLeft || raw.destroyed) throw closed()
      return new Promise<void>((resolve, reject) => {
        raw.write(bytes, (cause) => (cause ? reject(cause) : resolve()))
      })
    },
    close: () =>
      new Promise<void>((resolve) => {
        if (isLeft || raw.destroyed) resolve()
        else raw.end(resolve)
      }),
    abort: () => void (isLeft || raw.destroy()),
  })
  return {
    writable,
    leave() {
      isLeft = true
    },
  }
}

/** A copy: the function may go on to use its buffer. @throws TypeError for what is no bytes */
function copyOf(chunk: unknown): Uint8Array {
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk.slice(0))
  if (!ArrayBuffer.isView(chunk)) throw new TypeError('a socket writes bytes: encode texts with TextEncoder')
  return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength).slice()
}
