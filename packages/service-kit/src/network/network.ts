/** How a daemon reaches other machines: its settings, and what its parts need of them. The client library opens the connections. */
import type { Agent } from 'node:http'
import type { LookupFunction, Socket } from 'node:net'
import { ConfigError } from '../config/load.ts'

/** What parts that send requests need. */
export interface Outbound {
  /**
   * For `agent` of a request to a URL. It tries all addresses of a name side by side (RFC 8305), and uses no proxy for this machine.
   *
   * @param use `foreign`: a server that a user named, so nothing of it is shown to the operator, and no certificate to it. `registry`:
   *   the same, but it may have a certificate in the settings
   */
  agentFor(url: URL | string, use: 'service' | 'registry' | 'foreign'): Agent
  /** Whether a URL is reached through a proxy, which resolves its name. */
  isProxied(url: URL | string): boolean
}

export interface Network extends Outbound {
  /** Whether a connection to a service can be opened now. No request is sent. Resolves within seconds. */
  reaches(url: URL | string): Promise<boolean>
  /**
   * Opens a TCP connection for a host that another user named, through the proxy for https unless it is direct.
   *
   * @param target `lookup` refuses addresses that must not be connected to; `signal` gives up a direct connection
   * @throws (it rejects with) Error with a code
   */
  connectTo(target: {
    readonly host: string
    readonly port: number
    readonly lookup: LookupFunction
    readonly isDirect: boolean
    readonly signal: AbortSignal
  }): Promise<Socket>
  /** Closes connections to services, so that requests on them fail: all, or those that had waited for a request. */
  renew(which: 'all' | 'reused'): void
  /** The same network for connections that are counted for something, such as `images`. Without a purpose they are counted as `other`. */
  for(purpose: string): Network
  /** Since the start, for each purpose. Connections to this machine are not counted. */
  usage(): Readonly<Record<string, Usage>>
  status(): NetworkStatus
}

/** Bytes that TCP carried, with TLS and without the headers of packets. */
export interface Usage {
  readonly sentBytes: number
  readonly receivedBytes: number
}

export interface NetworkStatus {
  /** URL of the proxy for https, without a password; undefined: no proxy. */
  readonly proxy: string | undefined
  /** Why the proxy, a service or the file of authorities cannot be used; undefined: nothing is known to be wrong. */
  readonly problem: string | undefined
}

export interface NetworkConfig {
  readonly 'network.proxy': string
  readonly 'network.proxyAuthFile': string
  readonly 'network.noProxy': readonly string[]
  readonly 'network.caFile': string
  readonly 'network.clientCertificates': readonly string[]
}

/** Opens what the settings describe. @throws Error with the name `NetworkSettingError` */
export type OpenNetwork = (options: {
  readonly proxy: string
  readonly proxyAuthFile: string
  readonly noProxy: readonly string[]
  readonly caFile: string
  readonly clientCertificates: readonly string[]
}) => Network

/** @throws ConfigError for a setting, or a variable of the environment, that cannot be used */
export function readNetwork(config: NetworkConfig, open: OpenNetwork): Network {
  try {
    return open({
      proxy: config['network.proxy'],
      proxyAuthFile: config['network.proxyAuthFile'],
      noProxy: config['network.noProxy'],
      caFile: config['network.caFile'],
      clientCertificates: config['network.clientCertificates'],
    })
  } catch (cause) {
    if ((cause as Error).name !== 'NetworkSettingError') throw cause
    throw new ConfigError((cause as Error).message, { cause })
  }
}
