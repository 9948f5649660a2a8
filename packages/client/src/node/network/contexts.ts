/** What TLS to a server needs: the authorities that are trusted, and the certificate that is shown to this server. */
import type { X509Certificate } from 'node:crypto'
import type { SecureContext } from 'node:tls'
import { type Authorities, openAuthorities } from './authorities.ts'
import { readClientCertificate, readClientCertificates } from './client-certificates.ts'
import { NetworkFailure, shownText } from './network-failure.ts'

export interface ServerContext {
  /** For `tls.connect`; undefined: the authorities of Node, and no certificate. */
  readonly context: SecureContext | undefined
  /** Path of the certificate that is shown; undefined: no certificate is shown. */
  readonly shown?: string
  /** The authorities of the context that Node does not have. */
  readonly added?: readonly X509Certificate[]
}

export interface Contexts {
  readonly authorities: Authorities
  /**
   * @param host name or address, without brackets
   * @param mayShow whether a certificate is shown where the settings name one for this host
   * @throws NetworkFailure `client_certificate`
   */
  contextFor(host: string, port: number, mayShow: boolean): ServerContext
}

interface ContextOptions {
  /** Path of a file of authorities (PEM); empty: no file. */
  readonly caFile: string
  /** Entries `host=path` and `host:port=path`. */
  readonly clientCertificates: readonly string[]
  /** Paths of the authorities of the system. */
  readonly system: readonly string[]
  /** Unix milliseconds. */
  readonly now?: () => number
}

/** @throws NetworkSettingError */
export function openContexts({
  caFile,
  clientCertificates,
  system,
  now = Date.now,
}: ContextOptions): Contexts {
  const authorities = openAuthorities({ path: caFile, system, now })
  const certificates = readClientCertificates(clientCertificates)
  const made = new Map<string, { pem: string; ca: readonly string[] | undefined; context: SecureContext }>()
  return {
    authorities,
    contextFor(host, port, mayShow) {
      const path = mayShow ? certificates.pathFor(host, port) : undefined
      const added = authorities.added()
      if (path === undefined) return { context: authorities.context(), added }
      // Read for each connection: certificates of clients are often renewed each day.
      const pem = readClientCertificate(path, host, now())
      const ca = authorities.list()
      const before = made.get(path)
      if (before?.pem === pem && before.ca === ca) return { context: before.context, shown: path, added }
      const context = createContext(pem, ca, path, host)
      made.set(path, { pem, ca, context })
      return { context, shown: path, added }
    },
  }
}

function createContext(
  pem: string,
  ca: readonly string[] | undefined,
  path: string,
  host: string,
): SecureContext {
  try {
    const tls = process.getBuiltinModule('node:tls')
    return tls.createSecureContext({ cert: pem, key: pem, ...(ca && { ca: [...ca] }) })
  } catch (cause) {
    // A message of OpenSSL: it has nothing of the key.
    const why = shownText((cause as Error).message)
    const name = `network.clientCertificates: the file ${path} for ${shownText(host)}`
    throw new NetworkFailure('client_certificate', `${name} can't be used: ${why}`)
  }
}
