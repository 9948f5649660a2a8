/** Files of certificates (PEM) that are read again when they change. */
import { X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { readSmallFile } from './small-file.ts'

/** The certificates of a file, and what is wrong with it. */
interface CertificateFile {
  readonly path: string
  /** PEM texts, the same array until the file changes. A file that cannot be used leaves those from before. */
  read(): readonly string[]
  /** Why the file cannot be used, of the last `read`; undefined: nothing is wrong. */
  problem(): string | undefined
}

interface FileOptions {
  readonly path: string
  /** Bytes. */
  readonly maxBytes: number
  /** Milliseconds between two checks of the file. */
  readonly checkMs: number
  /** Whether the file is used without those of its certificates that cannot be read. */
  readonly skipsDamaged?: boolean
}

/** @param options `path` may be of a file that is missing and made later */
export function openCertificateFile({ path, maxBytes, checkMs, skipsDamaged }: FileOptions): CertificateFile {
  let certificates: readonly string[] = []
  let problem: string | undefined
  let seen = ''
  let checkedAt = Number.NEGATIVE_INFINITY
  return {
    path,
    read() {
      const time = performance.now()
      if (path === '' || time - checkedAt < checkMs) return certificates
      checkedAt = time
      try {
        const found = identify(path)
        if (found === seen) return certificates
        const blocks = blocksOf(readSmallFile(path, maxBytes))
        if (!skipsDamaged) expectAll(blocks)
        certificates = blocks
        problem = undefined
        seen = found
      } catch (cause) {
        problem = (cause as Error).message
      }
      return certificates
    },
    problem: () => problem,
  }
}

/** What changes when a file is written or replaced. */
function identify(path: string): string {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true })
  return `${dev}:${ino}:${size}:${mtimeNs}`
}

/** @throws Error if the text has no certificate */
function blocksOf(text: string): string[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new Error('it has no certificate in the PEM format')
  return blocks
}

/** @throws Error for the first one that is damaged */
function expectAll(blocks: readonly string[]): void {
  for (const [index, each] of blocks.entries())
    try {
      new X509Certificate(each)
    } catch (cause) {
      throw new Error(`its certificate ${index + 1} is damaged: ${(cause as Error).message}`)
    }
}

/** @returns undefined for a certificate that is damaged */
export function parseCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}
