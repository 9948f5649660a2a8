import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { Dispatcher } from '@selvedge/protocol/jsonrpc'
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
import type { RuntimeConfig } from './config.ts'
import { limits } from './limits.ts'

/** Where others reach this runtime: URLs where it listens for them, else the addresses of the device. */
export function reachableAt(config: RuntimeConfig, url: string): string[] {
  const all = Object.values(networkInterfaces()).flatMap((list = []) => list)
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
  const listens = (address: string) =>
    config['listen.addresses'].some((each) => each === address || each === '0.0.0.0' || each === '::')
  const { protocol, port } = new URL(url)
  return outside.map(({ address, family }) => {
    if (!listens(address)) return address
    return `${protocol}//${family === 'IPv6' ? `[${address}]` : address}:${port}`
  })
}

export interface ListenerParts {
  readonly dispatcher: Dispatcher<CallContext>
  readonly shedder: LoadShedder
  /** The OpenRPC document as JSON text, for a URL of the API. */
  readonly openRpc: (url: string) => string
  /** Answers what is for no path of the API. */
  readonly others: Listener
  /** The next DPoP nonce. */
  readonly nonce: () => string
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
export async function openListeners(
  config: RuntimeConfig,
  { dispatcher, shedder, openRpc, others, nonce, onUrl, onCertificate }: ListenerParts,
): Promise<Listening> {
  const tls = tlsOf(config, onCertificate)
  const urlOf = (port: number) => `${tls ? 'https' : 'http'}://127.0.0.1:${port}`
  const oneATurn = createOneATurn()
  const listenerFor = (port: number | undefined, url: () => string) =>
    createRpcListener({
      dispatcher,
      overTls: tls !== undefined && port !== undefined,
      guard: { port, hosts: config['listen.hosts'], allowedOrigins: config.allowedOrigins },
      maxBody: limits.body,
      oneATurn,
      nonce,
      shedder,
      others,
      openRpc: () => openRpc(url()),
    })

  let url = ''
  const tcp = await listenTcp({
    addresses: config['listen.addresses'],
    port: config['listen.port'],
    ...(tls && { tls }),
    authenticated: config.apiKey,
    limits,
    listener: (port) => {
      url = urlOf(port)
      onUrl(url)
      return listenerFor(port, () => url)
    },
  })
  try {
    const socketListener = listenerFor(undefined, () => url)
    const unix = await listenUnix(join(config.state, 'runtime.sock'), 0o660, limits, socketListener)
    return { close: async () => void (await Promise.all([tcp.close(), unix.close()])) }
  } catch (cause) {
    await tcp.close()
    throw cause
  }
}
