/** TLS to a server, and why its certificate is refused: with names and dates, not only with a code of OpenSSL. */
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { DetailedPeerCertificate, SecureContext, TLSSocket } from 'node:tls'
import { clientCertificateProblem } from './client-certificates.ts'
import { NetworkFailure, shownText } from './network-failure.ts'
import { openTcp } from './open-tcp.ts'

/** Loaded at first use: a program that calls only its own machine does not need it. */
const tls = () => process.getBuiltinModule('node:tls')

/** Milliseconds until a connection must be encrypted. */
const tlsTimeoutMs = 15_000

interface TlsTarget {
  /** Name or address, without brackets. */
  readonly host: string
  readonly port: number
  /** A connection that leads to the server already. After a failure the caller closes it. */
  readonly socket?: Socket
  /** Name that the certificate must have. Default: the host. */
  readonly servername?: string
  /** Whether its certificate is not verified, because the operator said so of this server. */
  readonly acceptsAny?: boolean
  readonly lookup?: LookupFunction
  /** Undefined: the authorities of Node. */
  readonly context: SecureContext | undefined
  /** File of the certificate that the context shows, for errors. */
  readonly shown?: string
  /** The proxy that the connection leads through, for errors. */
  readonly through?: string
  readonly timeoutMs?: number
  readonly allowHalfOpen?: boolean
  /** Unix milliseconds. */
  readonly now?: () => number
}

/**
 * Resolves when the connection is encrypted and the certificate is verified: by chain, time and name, unless any is accepted.
 *
 * A server that refuses the certificate of its client may say so later (RFC 8446 § 4.4.2.4): then the socket has that error.
 *
 * @throws NetworkFailure `certificate_…`, `client_certificate`; Error of the connection
 */
export async function openTls(target: TlsTarget): Promise<TLSSocket> {
  const { timeoutMs = tlsTimeoutMs, socket: given } = target
  const deadline = performance.now() + timeoutMs
  const below = given ?? (await openTcp({ ...target, timeoutMs }))
  try {
    return await encrypt(below, target, timeoutMs, deadline - performance.now())
  } catch (cause) {
    if (!given) below.destroy()
    throw cause
  }
}

/** @param timeoutMs the whole time limit, for its error @param leftMs what is left of it */
function encrypt(below: Socket, target: TlsTarget, timeoutMs: number, leftMs: number): Promise<TLSSocket> {
  const { host, port, context } = target
  const { allowHalfOpen = false } = target
  const servername = target.servername ?? host
  return new Promise((resolve, reject) => {
    const socket = tls().connect({
      ...{ host, port, socket: below, allowHalfOpen, ALPNProtocols: ['http/1.1'] },
      servername: isIP(servername) === 0 ? servername : '',
      ...(context && { secureContext: context }),
      // It is refused below, where its names and dates are known. Nothing is written before.
      rejectUnauthorized: false,
    })
    const refuse = (cause: Error) => {
      clearTimeout(late)
      socket.destroy()
      reject(cause)
    }
    const late = setTimeout(() => {
      const why = `no encrypted connection to ${host}:${port} within ${timeoutMs / 1000} s`
      refuse(Object.assign(new Error(why), { code: 'ETIMEDOUT' }))
    }, leftMs)
    // Stays: an error of a connection that was refused or is given up has no other listener. It comes before those of its users.
    socket.on('error', (cause) => {
      const problem = clientCertificateProblem(cause, `${host}:${port}`, target.shown)
      if (problem) cause.message = problem.message
      if (problem) (cause as NodeJS.ErrnoException).code = problem.code
      refuse(problem ?? cause)
    })
    socket.once('close', () => {
      const why = `the connection to ${host}:${port} was closed before it was encrypted`
      refuse(Object.assign(new Error(why), { code: 'ECONNRESET' }))
    })
    socket.once('secureConnect', () => {
      clearTimeout(late)
      try {
        const problem = target.acceptsAny ? undefined : problemWith(socket, servername, target)
        if (problem) refuse(problem)
        else resolve(socket)
      } catch (cause) {
        refuse(cause as Error)
      }
    })
  })
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

/** A name as a certificate has it: whatever its authority wrote. */
function nameOf(subject: DetailedPeerCertificate['subject'] | undefined): string {
  const { CN, O } = (subject ?? {}) as unknown as Record<string, string | string[] | undefined>
  const name = [CN ?? O ?? 'without a name'].flat()[0] ?? ''
  return JSON.stringify(shownText(name, 100))
}

const expiredCodes = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'])

/** Why the certificate of a connection is refused; undefined: it is not. */
function problemWith(
  socket: TLSSocket,
  servername: string,
  { through, now = Date.now }: TlsTarget,
): NetworkFailure | undefined {
  const chain = chainOf(socket)
  const [leaf] = chain
  if (socket.authorized && leaf && tls().checkServerIdentity(servername, leaf) === undefined) return undefined
  const code = String(socket.authorizationError ?? 'UNABLE_TO_GET_ISSUER_CERT')
  const own = `the certificate of ${shownText(servername)}`
  const top = chain.at(-1)
  if (expiredCodes.has(code)) return new NetworkFailure('certificate_expired', expired(own, chain, now()))
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' && leaf)
    return new NetworkFailure(
      'certificate_name',
      `${own} is for other names: ${shownText(leaf.subjectaltname ?? nameOf(leaf.subject), 300)}. Use one of them, or check that nothing else answers there`,
    )
  const intercepted = through
    ? ` The proxy ${through} may replace certificates: ask who runs it for its authority.`
    : ''
  return new NetworkFailure(
    'certificate_untrusted',
    `${own} is from an authority that is not trusted here: ${nameOf(top?.issuer)} (${shownText(code, 60)}).${intercepted} Put the certificate of the authority into the file of network.caFile`,
  )
}

function expired(own: string, chain: readonly DetailedPeerCertificate[], now: number): string {
  const at = (text: string) => shownText(text, 40)
  const isWrong = ({ valid_from, valid_to }: DetailedPeerCertificate) =>
    Date.parse(valid_to) < now || Date.parse(valid_from) > now
  const found = chain.find(isWrong)
  const clock = `the clock here shows ${new Date(now).toISOString().slice(0, 16)}Z`
  if (!found) return `${own} is not valid at this time: ${clock}`
  const which = found === chain[0] ? own : `${own} depends on ${nameOf(found.subject)}, which`
  return `${which} is valid from ${at(found.valid_from)} to ${at(found.valid_to)}, and ${clock}. Renew it, or set the clock`
}
