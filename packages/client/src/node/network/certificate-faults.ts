/** Why the certificate of a server is refused: which of five faults it has, with names and dates, not only with a code of OpenSSL. */
import type { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import { NetworkFailure, shownText } from './network-failure.ts'

interface Judged {
  /** Name that the certificate must have. */
  readonly servername: string
  /** The proxy that the connection leads through. */
  readonly through?: string | undefined
  /** Authorities that are trusted and that Node does not have. */
  readonly added?: readonly X509Certificate[] | undefined
  /** Unix milliseconds. */
  readonly now: number
}

/** @returns undefined if the certificate of the connection is verified */
export function certificateFault(socket: TLSSocket, judged: Judged): NetworkFailure | undefined {
  const chain = chainOf(socket)
  const [leaf] = chain
  const { checkServerIdentity } = process.getBuiltinModule('node:tls')
  const { servername } = judged
  if (socket.authorized && leaf && checkServerIdentity(servername, leaf) === undefined) return undefined
  const code = String(socket.authorizationError ?? 'UNABLE_TO_GET_ISSUER_CERT')
  const own = `the certificate of ${shownText(servername)}`
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return atWrongTime(own, chain, judged.now)
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' && leaf)
    return new NetworkFailure(
      'certificate_name',
      `${own} is for other names: ${shownText(leaf.subjectaltname ?? nameOf(leaf.subject), 300)}. Use one of them, or check that nothing else answers there, such as the sign-in page of this network`,
    )
  return untrusted(own, chain, { ...judged, code })
}

/** Certificates of a chain that are examined. */
const maxChain = 10

/** The chain as the server sent it, from its own certificate on. */
function chainOf(socket: TLSSocket): DetailedPeerCertificate[] {
  const chain: DetailedPeerCertificate[] = []
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true)
  while (next?.fingerprint256 !== undefined && chain.length < maxChain) {
    if (chain.some((each) => each.fingerprint256 === next?.fingerprint256)) break
    chain.push(next)
    next = next.issuerCertificate
  }
  return chain
}

type Name = DetailedPeerCertificate['subject'] | undefined

/** A part of a name as a certificate has it: whatever its authority wrote. */
function partOf(name: Name, part: 'CN' | 'O'): string | undefined {
  const value = ((name ?? {}) as unknown as Record<string, string | string[] | undefined>)[part]
  return [value].flat()[0]
}

const nameOf = (name: Name): string =>
  JSON.stringify(shownText(partOf(name, 'CN') ?? partOf(name, 'O') ?? 'without a name', 100))

function untrusted(
  own: string,
  chain: readonly DetailedPeerCertificate[],
  { code, through, added = [] }: Judged & { readonly code: string },
): NetworkFailure {
  const issuer = chain.at(-1)?.issuer
  const name = nameOf(issuer)
  if (lacksIntermediate(chain, added))
    return new NetworkFailure(
      'certificate_incomplete',
      `${own} came without the certificate of ${name}, which issued it: the chain is incomplete (${shownText(code, 60)}). Let the server send the whole chain, such as fullchain.pem in place of cert.pem`,
    )
  const intercepted = through
    ? ` The proxy ${through} may replace certificates: ask who runs it for its authority.`
    : ''
  return new NetworkFailure(
    'certificate_untrusted',
    `${own} is from an authority that is not trusted here: ${name} (${shownText(code, 60)}).${intercepted} Install its certificate in this system (update-ca-certificates), or put it into the file of network.caFile`,
  )
}

/**
 * Whether a server sent its own certificate alone although an intermediate authority issued it. Nothing in the certificate states that.
 * Two things suggest it: it names where the certificate of its issuer is (RFC 5280 § 4.2.2.1), as those of public authorities do; or an
 * authority of the same organization is trusted here.
 */
function lacksIntermediate(
  chain: readonly DetailedPeerCertificate[],
  added: readonly X509Certificate[],
): boolean {
  const [leaf] = chain
  if (chain.length !== 1 || !leaf) return false
  const isSelfSigned = JSON.stringify(leaf.subject) === JSON.stringify(leaf.issuer)
  if (isSelfSigned) return false
  if (leaf.infoAccess?.['CA Issuers - URI']?.length) return true
  const organization = partOf(leaf.issuer, 'O')
  return (
    organization !== undefined &&
    added.some(({ subject }) => subject.split('\n').includes(`O=${organization}`))
  )
}

function atWrongTime(own: string, chain: readonly DetailedPeerCertificate[], now: number): NetworkFailure {
  const isEarly = ({ valid_from }: DetailedPeerCertificate) => Date.parse(valid_from) > now
  const isLate = ({ valid_to }: DetailedPeerCertificate) => Date.parse(valid_to) < now
  const clock = `the clock here shows ${timeOf(now)}`
  const found = chain.find((each) => isEarly(each) || isLate(each))
  if (!found) return new NetworkFailure('certificate_expired', `${own} is not valid at this time: ${clock}`)
  const which = found === chain[0] ? own : `${own} depends on ${nameOf(found.subject)}, which`
  return isEarly(found)
    ? new NetworkFailure(
        'certificate_not_yet_valid',
        `${which} is not valid before ${timeOf(Date.parse(found.valid_from))}, and ${clock}. Set the clock, or wait until then`,
      )
    : new NetworkFailure(
        'certificate_expired',
        `${which} expired at ${timeOf(Date.parse(found.valid_to))}, and ${clock}. Renew it, or set the clock`,
      )
}

/** @param time Unix milliseconds of a certificate or of this machine, both between the years 1950 and 9999 */
const timeOf = (time: number): string => `${new Date(time).toISOString().slice(0, 16)}Z`
