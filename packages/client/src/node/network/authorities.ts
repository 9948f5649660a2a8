/** Authorities in addition to those of Node, from a file of certificates that is read again when it changes. */
import { X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import type { SecureContext } from 'node:tls'
import { shownText } from './network-failure.ts'
import { readSmallFile } from './small-file.ts'

/** Bytes of the file: the authorities of Debian have 220 kB. Milliseconds between two checks of it. */
const limits = { maxBytes: 1024 * 1024, checkMs: 5000 } as const

export interface Authorities {
  /** For `tls.connect`; undefined: the authorities of Node alone. A file that cannot be used leaves those from before. */
  context(): SecureContext | undefined
  /** The same authorities, as PEM: another list after a change. */
  list(): readonly string[] | undefined
  /** What is wrong with the file, with names and dates; undefined: nothing. */
  problem(): string | undefined
}

interface AuthoritiesOptions {
  /** Path of a file of certificates (PEM); empty: no file. */
  readonly path: string
  /** Unix milliseconds. */
  readonly now?: () => number
  readonly checkMs?: number
}

export function openAuthorities({
  path,
  now = Date.now,
  checkMs = limits.checkMs,
}: AuthoritiesOptions): Authorities {
  let context: SecureContext | undefined
  let list: readonly string[] | undefined
  let used: readonly X509Certificate[] = []
  let unusable: string | undefined
  let seen = ''
  let checkedAt = Number.NEGATIVE_INFINITY

  function check(): void {
    const time = performance.now()
    if (path === '' || time - checkedAt < checkMs) return
    checkedAt = time
    try {
      const found = identify(path)
      if (found === seen) return
      const certificates = readCertificates(path)
      const tls = process.getBuiltinModule('node:tls')
      const ca = [
        ...(tls.getCACertificates?.('default') ?? tls.rootCertificates),
        ...certificates.map(String),
      ]
      context = tls.createSecureContext({ ca })
      list = ca
      used = certificates
      unusable = undefined
      seen = found
    } catch (cause) {
      unusable = `network.caFile ${path} can't be used: ${(cause as Error).message}`
    }
  }

  return {
    context() {
      check()
      return context
    },
    list() {
      check()
      return list
    },
    problem() {
      check()
      // With the present time: the clock may have been wrong when the file was read, and authorities expire.
      return unusable ?? expiredIn(used, path, now())
    },
  }
}

/** What changes when a file is written or replaced. */
function identify(path: string): string {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true })
  return `${dev}:${ino}:${size}:${mtimeNs}`
}

/** @throws Error if it is no file, is too large, or has no certificate or one that is damaged */
function readCertificates(path: string): X509Certificate[] {
  const text = readSmallFile(path, limits.maxBytes)
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new Error('it has no certificate in the PEM format')
  return blocks.map((each, index) => {
    try {
      return new X509Certificate(each)
    } catch (cause) {
      throw new Error(`its certificate ${index + 1} is damaged: ${(cause as Error).message}`)
    }
  })
}

function expiredIn(certificates: readonly X509Certificate[], path: string, now: number): string | undefined {
  const found = certificates.find(({ validTo }) => Date.parse(validTo) < now)
  if (!found) return undefined
  const name = shownText(found.subject.replaceAll('\n', ', '))
  return `network.caFile ${path}: the authority ${name} expired at ${shownText(found.validTo, 40)}: replace it`
}
