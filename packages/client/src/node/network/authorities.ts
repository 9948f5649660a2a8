/** The authorities that are trusted: those of Node, those of the system, and those of a file. The files are read again when they change. */
import type { X509Certificate } from 'node:crypto'
import type { SecureContext } from 'node:tls'
import { openCertificateFile, parseCertificate } from './certificates.ts'
import { shownText } from './network-failure.ts'

/** Bytes of a file: the authorities of Debian have 220 kB. Milliseconds between two checks of it. */
const limits = { maxBytes: 1024 * 1024, maxSystemBytes: 4 * 1024 * 1024, checkMs: 5000 } as const

export interface Authorities {
  /** For `tls.connect`; undefined: the authorities of Node alone. A file that cannot be used leaves those from before. */
  context(): SecureContext | undefined
  /** The same authorities, as PEM: another list after a change. */
  list(): readonly string[] | undefined
  /** Those that Node does not have: of the system and of the file. */
  added(): readonly X509Certificate[]
  /** What is wrong with the file of the settings, with names and dates; undefined: nothing. */
  problem(): string | undefined
}

interface AuthoritiesOptions {
  /** Path of a file of certificates (PEM) of the settings; empty: no file. */
  readonly path: string
  /** Paths of files of the system. One that is missing or damaged is no problem. */
  readonly system?: readonly string[]
  /** Unix milliseconds. */
  readonly now?: () => number
  readonly checkMs?: number
}

export function openAuthorities({
  path,
  system = [],
  now = Date.now,
  checkMs = limits.checkMs,
}: AuthoritiesOptions): Authorities {
  const own = openCertificateFile({ path, maxBytes: limits.maxBytes, checkMs })
  const others = system.map((each) =>
    openCertificateFile({ path: each, maxBytes: limits.maxSystemBytes, checkMs, skipsDamaged: true }),
  )
  let parsed: { readonly of: readonly string[]; readonly certificates: X509Certificate[] } | undefined
  let made: Trusted | undefined
  let madeOf: readonly (readonly string[])[] = []

  function trusted(): Trusted | undefined {
    const files = [own, ...others].map((each) => each.read())
    if (files.some((each, at) => each !== madeOf[at])) {
      made = trust(files.flat())
      madeOf = files
    }
    return made
  }

  return {
    context: () => trusted()?.context,
    list: () => trusted()?.list,
    added: () => trusted()?.added ?? [],
    problem() {
      const certificates = own.read()
      const problem = own.problem()
      if (problem !== undefined) return `network.caFile ${path} can't be used: ${problem}`
      // With the present time: the clock may have been wrong when the file was read, and authorities expire.
      if (parsed?.of !== certificates)
        parsed = {
          of: certificates,
          certificates: certificates.flatMap((each) => parseCertificate(each) ?? []),
        }
      return expiredIn(parsed.certificates, path, now())
    },
  }
}

interface Trusted {
  readonly context: SecureContext
  readonly list: readonly string[]
  readonly added: readonly X509Certificate[]
}

/** @returns undefined if Node trusts all of them anyway: its own context is made once for all connections */
function trust(certificates: readonly string[]): Trusted | undefined {
  const tls = process.getBuiltinModule('node:tls')
  const usual = tls.getCACertificates?.('default') ?? tls.rootCertificates
  const known = new Set(usual.map(withoutSpace))
  const added = [...new Set(certificates)]
    .filter((each) => !known.has(withoutSpace(each)))
    .flatMap((each) => parseCertificate(each) ?? [])
  if (added.length === 0) return undefined
  const list = [...usual, ...added.map(String)]
  return { context: tls.createSecureContext({ ca: list }), list, added }
}

const withoutSpace = (pem: string): string => pem.replaceAll(/\s/g, '')

function expiredIn(certificates: readonly X509Certificate[], path: string, now: number): string | undefined {
  const found = certificates.find(({ validTo }) => Date.parse(validTo) < now)
  if (!found) return undefined
  const name = shownText(found.subject.replaceAll('\n', ', '))
  return `network.caFile ${path}: the authority ${name} expired at ${shownText(found.validTo, 40)}: replace it`
}
