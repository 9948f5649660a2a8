/** Authorities in addition to those of Node, from a file of certificates that is read again when it changes. */
import { X509Certificate } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs'
import type { SecureContext } from 'node:tls'
import { shownText } from './network-failure.ts'

/** Bytes of the file: the authorities of Debian have 220 kB. Milliseconds between two checks of it. */
const limits = { maxBytes: 1024 * 1024, checkMs: 5000 } as const

interface Authorities {
  /** For `tls.connect`; undefined: the authorities of Node alone. A file that cannot be used leaves those from before. */
  context(): SecureContext | undefined
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
  let problem: string | undefined
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
      problem = expiredIn(certificates, path, now())
      seen = found
    } catch (cause) {
      problem = `network.caFile ${path} can't be used: ${(cause as Error).message}`
    }
  }

  return {
    context() {
      check()
      return context
    },
    problem() {
      check()
      return problem
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
  const text = readSmallFile(path)
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

/** @throws Error if it is no regular file: a pipe would stop the program */
function readSmallFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new Error('it is no regular file')
    const content = Buffer.alloc(limits.maxBytes + 1)
    let size = 0
    for (let read = 1; read > 0 && size < content.length; size += read)
      read = readSync(file, content, size, content.length - size, null)
    if (size > limits.maxBytes) throw new Error(`it has more than ${limits.maxBytes} bytes`)
    return content.toString('latin1', 0, size)
  } finally {
    closeSync(file)
  }
}

function expiredIn(certificates: readonly X509Certificate[], path: string, now: number): string | undefined {
  const found = certificates.find(({ validTo }) => Date.parse(validTo) < now)
  if (!found) return undefined
  const name = shownText(found.subject.replaceAll('\n', ', '))
  return `network.caFile ${path}: the authority ${name} expired at ${shownText(found.validTo, 40)}: replace it`
}
