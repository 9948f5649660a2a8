/** The TLS certificate of the listeners: read again when its files change, so that a renewed one needs no restart. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { createSecureContext, type Server as TlsServer } from 'node:tls'
import { safely } from '../safely/safely.ts'

/** A certificate or private key that cannot be used; the cause is that of OpenSSL. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
}

/** PEM texts. */
interface CertificatePair {
  readonly cert: string
  readonly key: string
}

export interface CertificateStatus {
  /** Why the files on the disk are not used; the certificate from before is. `undefined`: they are used. */
  readonly problem: Error | undefined
  /** Unix milliseconds after which clients refuse the certificate in use. */
  readonly expiresAt: number
}

export interface Certificate {
  current(): CertificatePair
  /** Gives a server each certificate that comes from now on. */
  follow(server: HttpServer): void
  close(): void
}

export interface CertificateOptions {
  /** Paths of PEM files: the certificate chain and its private key. */
  readonly cert: string
  readonly key: string
  /** Called after each check of the files. */
  readonly onStatus: (status: CertificateStatus) => void
  /** Milliseconds between two checks of the files. */
  readonly intervalMs?: number
}

/**
 * Reads the certificate, and checks for another one every ten seconds. Files are compared, not watched: tools replace them by
 * renaming files, folders or links. A pair that cannot be used, such as one that is written right now, leaves the old one.
 *
 * @throws Error if the files cannot be read, or the key does not match the certificate
 */
export function openCertificate({
  cert,
  key,
  onStatus,
  intervalMs = 10_000,
}: CertificateOptions): Certificate {
  const servers = new Set<TlsServer>()
  let seen = identify(cert, key)
  let pair = readPair(cert, key)
  let problem: Error | undefined

  function look(): void {
    try {
      const found = identify(cert, key)
      if (found !== seen || problem) {
        const next = readPair(cert, key)
        for (const server of servers) server.setSecureContext({ ...next, minVersion: 'TLSv1.2' })
        pair = next
        seen = found
        problem = undefined
      }
    } catch (cause) {
      problem = cause as Error
    }
    onStatus({ problem, expiresAt: pair.expiresAt })
  }

  const timer = setInterval(safely('certificate.look', look), intervalMs).unref()
  look()
  return {
    current: () => pair,
    follow(server) {
      servers.add(server as unknown as TlsServer)
      server.once('close', () => servers.delete(server as unknown as TlsServer))
    },
    close: () => clearInterval(timer),
  }
}

/** What changes when a file is written or replaced. */
function identify(...paths: readonly string[]): string {
  return paths
    .map((path) => statSync(path, { bigint: true }))
    .map(({ dev, ino, size, mtimeNs }) => `${dev}:${ino}:${size}:${mtimeNs}`)
    .join()
}

/** @throws Error if a file cannot be read; CertificateError if what it contains cannot be used */
function readPair(certPath: string, keyPath: string): UsablePair {
  const pair = { cert: readFileSync(certPath, 'utf8'), key: readFileSync(keyPath, 'utf8') }
  return checkPair(pair, `the certificate in ${certPath} with the key in ${keyPath}`)
}

/** A pair that a server accepts, and when clients refuse it, in Unix milliseconds. */
type UsablePair = CertificatePair & Pick<CertificateStatus, 'expiresAt'>

/**
 * Checks that a server can use a certificate chain with a private key.
 *
 * @param label names the pair in the error
 * @throws CertificateError
 */
export function checkPair({ cert, key }: CertificatePair, label: string): UsablePair {
  try {
    const certificate = new X509Certificate(cert)
    const expiresAt = Date.parse(certificate.validTo)
    // A secure context would accept an empty file, and show no certificate at all.
    if (!certificate.checkPrivateKey(createPrivateKey(key)))
      throw new Error('the key is of another certificate')
    if (Number.isNaN(expiresAt)) throw new Error('its end is not a time')
    createSecureContext({ cert, key, minVersion: 'TLSv1.2' })
    return { cert, key, expiresAt }
  } catch (cause) {
    throw new CertificateError(`${label} cannot be used: ${(cause as Error).message}`, { cause })
  }
}
