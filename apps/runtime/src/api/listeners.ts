import type { Dispatcher } from '@selvedge/protocol/jsonrpc'
import { settingOf } from '@selvedge/service-kit/config'
import {
  type CallContext,
  type CertificateStatus,
  createOneATurn,
  createRpcListener,
  ListenError,
  type Listener,
  type Listening,
  type LoadShedder,
  listenTcp,
  listenUnix,
  openCertificate,
} from '@selvedge/service-kit/http'
import type { Readiness } from '@selvedge/service-kit/lifecycle'
import { createRpcSockets } from '@selvedge/service-kit/websocket'
import { type RuntimeConfig, runtimeOptions, socketOf } from '../config.ts'
import { createOpenHttp2 } from './http2/session.ts'
import { limits } from './limits.ts'

export interface ListenerParts {
  readonly dispatcher: Dispatcher<CallContext>
  /** Whether the dispatcher measures how long calls take. */
  readonly isMeasured: boolean
  readonly readiness: Readiness
  readonly shedder: LoadShedder
  /** The OpenRPC document as JSON text, for a URL of the API. */
  readonly openRpc: (url: string) => string
  /** What the status page sends with its calls. */
  readonly pageNonce: string
  /** Answers what is for no path of the API. */
  readonly others: Listener
  /** The next DPoP nonce. */
  readonly nonce: () => string
  /** Checks the API key of a WebSocket in its handshake; absent: there is no key. @throws RpcError */
  readonly expectKey: ((authorization: string | undefined) => void) | undefined
  /** Called with the URL of the API before the first request is served. */
  readonly onUrl: (url: string) => void
  /** Called with the state of the TLS certificate, every few seconds. */
  readonly onCertificate: (status: CertificateStatus) => void
}

/** What opens the certificate of the configuration; it throws a ListenError where the files cannot be used. */
function tlsOf(config: RuntimeConfig, onStatus: ListenerParts['onCertificate']) {
  const { 'listen.tlsCert': cert, 'listen.tlsKey': key } = config
  if (cert === '') return undefined
  return () => {
    try {
      return openCertificate({ cert, key, onStatus })
    } catch (cause) {
      const { message } = cause as Error
      throw new ListenError(`can't use the TLS certificate ${cert} with the key ${key}: ${message}`, {
        cause,
      })
    }
  }
}

/**
 * Opens the TCP listeners and the Unix socket; all of them serve the same table.
 *
 * @throws ListenError
 */
export async function openListeners(config: RuntimeConfig, parts: ListenerParts): Promise<Listening> {
  const { shedder, readiness, openRpc, onUrl } = parts
  const tls = tlsOf(config, parts.onCertificate)
  const urlOf = (port: number) => `${tls ? 'https' : 'http'}://127.0.0.1:${port}`
  const oneATurn = createOneATurn()
  const sockets = createRpcSockets({
    ...{ dispatcher: parts.dispatcher, isMeasured: parts.isMeasured, shedder, oneATurn, nonce: parts.nonce },
    ...(parts.expectKey && { expectKey: parts.expectKey }),
    isDraining: readiness.isDraining,
    limits: { messageBytes: limits.body },
  })
  const serverLimits = { ...limits, isDraining: readiness.isDraining, http2: createOpenHttp2() }
  const listenerFor = (port: number | undefined, url: () => string) =>
    createRpcListener({
      dispatcher: parts.dispatcher,
      isMeasured: parts.isMeasured,
      readiness,
      overTls: tls !== undefined && port !== undefined,
      pageNonce: parts.pageNonce,
      guard: { port, hosts: config['listen.hosts'], allowedOrigins: config.allowedOrigins },
      maxBody: limits.body,
      readsUntyped: true,
      oneATurn,
      nonce: parts.nonce,
      shedder,
      sockets,
      others: parts.others,
      openRpc: () => openRpc(url()),
    })

  let url = ''
  const tcp = await listenTcp({
    addresses: config['listen.addresses'],
    port: config['listen.port'],
    portSetting: settingOf(runtimeOptions, 'listen.port'),
    ...(tls && { tls }),
    authenticated: config.apiKey,
    limits: serverLimits,
    listener: (port) => {
      url = urlOf(port)
      onUrl(url)
      return listenerFor(port, () => url)
    },
  })
  try {
    const socketListener = listenerFor(undefined, () => url)
    const unix = await listenUnix(socketOf(config), 0o660, serverLimits, socketListener)
    return { close: async () => void (await Promise.all([tcp.close(), unix.close(), sockets.close()])) }
  } catch (cause) {
    await tcp.close()
    throw cause
  }
}
