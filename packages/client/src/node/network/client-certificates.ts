/** Certificates that this program shows to the servers and the proxy that its settings name, and to no other. */
import { X509Certificate } from 'node:crypto'
import { NetworkFailure, NetworkSettingError, shownText } from './network-failure.ts'
import { readSmallFile } from './small-file.ts'

/** Bytes of a file with a certificate, its chain and its key. Entries of the setting. Characters of an entry. */
const limits = { maxBytes: 256 * 1024, maxEntries: 100, maxEntryLength: 4096 } as const

interface Entry {
  /** Lower case, without brackets. */
  readonly host: string
  /** Undefined: each port. */
  readonly port: number | undefined
  readonly path: string
}

export interface ClientCertificates {
  /** File for a host, without brackets, and a port; undefined: no certificate is shown there. An entry with a port comes first. */
  pathFor(host: string, port: number): string | undefined
}

/** @throws NetworkSettingError for an entry that is not `host=path` or `host:port=path` */
export function readClientCertificates(texts: readonly string[]): ClientCertificates {
  if (texts.length > limits.maxEntries)
    throw new NetworkSettingError(`network.clientCertificates has more than ${limits.maxEntries} entries`)
  const entries = texts.map((each) => readEntry(each.trim()))
  return {
    pathFor(given, port) {
      const host = given.toLowerCase()
      const found = entries.filter((each) => each.host === host && (each.port ?? port) === port)
      return (found.find((each) => each.port !== undefined) ?? found[0])?.path
    },
  }
}

function readEntry(text: string): Entry {
  const [, bracketed, name, digits, path] =
    /^(?:\[([\da-f:.]+)\]|([a-z\d._-]+))(?::(\d{1,5}))?=(\S.*)$/i.exec(text) ?? []
  const host = (bracketed ?? name)?.toLowerCase()
  const port = digits === undefined ? undefined : Number(digits)
  if (host === undefined || path === undefined || text.length > limits.maxEntryLength || (port ?? 1) > 65_535)
    throw new NetworkSettingError(
      `network.clientCertificates has ${JSON.stringify(shownText(text))}; expected a host, perhaps with a port, and a file, such as registry.example:5000=/etc/selvedge/registry.pem`,
    )
  return { host, port, path }
}

/**
 * The content of a file with a certificate and its key (PEM).
 *
 * @param now Unix milliseconds
 * @throws NetworkFailure `client_certificate`, with the path and without anything of the key
 */
export function readClientCertificate(path: string, host: string, now: number): string {
  const text = readFor(path, host)
  const name = `network.clientCertificates: the file ${path} for ${shownText(host)}`
  if (!/-----BEGIN CERTIFICATE-----/.test(text) || !/-----BEGIN (?:\w+ )?PRIVATE KEY-----/.test(text))
    throw new NetworkFailure('client_certificate', `${name} has to have a certificate and its key, as PEM`)
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text))
    throw new NetworkFailure(
      'client_certificate',
      `${name} has a key with a passphrase. Remove it from the key`,
    )
  const until = validUntil(text)
  if (until !== undefined && Date.parse(until) < now)
    throw new NetworkFailure(
      'client_certificate',
      `${name} has a certificate that expired at ${until}. Renew it, or set the clock`,
    )
  return text
}

function readFor(path: string, host: string): string {
  try {
    return readSmallFile(path, limits.maxBytes)
  } catch (cause) {
    const why = `network.clientCertificates: the file ${path} for ${shownText(host)} can't be read: ${(cause as Error).message}`
    throw new NetworkFailure('client_certificate', why)
  }
}

/** Of the first certificate; undefined: it is damaged, which OpenSSL reports when it is used. */
function validUntil(pem: string): string | undefined {
  try {
    return new X509Certificate(pem).validTo
  } catch {
    return undefined
  }
}

/** Codes for the alerts (RFC 8446 § 6) of a server that refuses the certificate of its client, or wants one. */
const alerts =
  /ALERT_(?:CERTIFICATE_(?:REQUIRED|EXPIRED|REVOKED|UNKNOWN)|(?:BAD|UNSUPPORTED)_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)$/
/** Of TLS 1.2, for want of a certificate and of a common cipher alike. */
const handshakeAlert = /ALERT_HANDSHAKE_FAILURE$/

/**
 * @param shown path of the file that was shown
 * @returns why a server closed the connection, if that was about the certificate of its client
 */
export function clientCertificateProblem(
  cause: Error,
  server: string,
  shown: string | undefined,
): NetworkFailure | undefined {
  const code = shownText(String((cause as NodeJS.ErrnoException).code), 80)
  const isUnclear = handshakeAlert.test(code)
  if (!isUnclear && !alerts.test(code)) return undefined
  const [refuses, wants] = isUnclear ? ['may refuse', 'may want'] : ['refuses', 'wants']
  const message =
    shown === undefined
      ? `${server} ${wants} a certificate of its client (${code}): name a file for this host in network.clientCertificates`
      : `${server} ${refuses} the certificate in ${shown} (${code}): check it in network.clientCertificates`
  return new NetworkFailure('client_certificate', message)
}
