/** TLS on a connection to a server. Its certificate is verified before anything is sent. */
import type { X509Certificate } from 'node:crypto'
import { isIP, type Socket } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import { certificateFault } from './certificate-faults.ts'
import { clientCertificateProblem } from './client-certificates.ts'
import { NetworkFailure } from './network-failure.ts'

/** Loaded at first use: a program that calls only its own machine does not need it. */
const tls = () => process.getBuiltinModule('node:tls')

/** Milliseconds until a connection must be encrypted. */
const tlsTimeoutMs = 15_000

interface TlsTarget {
  /** Name or address, without brackets. */
  readonly host: string
  readonly port: number
  /** A connection that leads to the server. After a failure it is closed. The one over it is half open where this one may be. */
  readonly socket: Socket
  /** Name that the certificate must have. Default: the host. */
  readonly servername?: string
  /** Whether its certificate is not verified, because the operator said so of this server. */
  readonly acceptsAny?: boolean
  /** Undefined: the authorities of Node. */
  readonly context: SecureContext | undefined
  /** The authorities of the context that Node does not have, for errors. */
  readonly added?: readonly X509Certificate[]
  /** File of the certificate that the context shows, for errors. */
  readonly shown?: string
  /** The proxy that the connection leads through, for errors. */
  readonly through?: string
  readonly timeoutMs?: number
  /** Unix milliseconds. */
  readonly now?: () => number
}

/**
 * Resolves when the connection is encrypted and the certificate is verified: by chain, time and name, unless any is accepted.
 *
 * A server that refuses the certificate of its client may say so later (RFC 8446 § 4.4.2.4): then the socket has that error.
 *
 * @throws NetworkFailure `certificate_…`, `client_certificate`, `no_tls`; Error of the connection
 */
export function openTls(target: TlsTarget): Promise<TLSSocket> {
  const { host, port, socket: below, context, timeoutMs = tlsTimeoutMs } = target
  const servername = target.servername ?? host
  return new Promise((resolve, reject) => {
    const socket = tls().connect({
      ...{ socket: below, host, port, ALPNProtocols: ['http/1.1'] },
      servername: isIP(servername) === 0 ? servername : '',
      ...(context && { secureContext: context }),
      // It is refused below, where its names and dates are known. Nothing is written before.
      rejectUnauthorized: false,
    })
    const refuse = (cause: Error) => {
      clearTimeout(late)
      socket.destroy()
      below.destroy()
      reject(cause)
    }
    const late = setTimeout(() => {
      const why = `no encrypted connection to ${host}:${port} within ${timeoutMs / 1000} s`
      refuse(Object.assign(new Error(why), { code: 'ETIMEDOUT' }))
    }, timeoutMs)
    // Stays: an error of a connection that was refused or is given up has no other listener. It comes before those of its users.
    socket.on('error', (cause) => {
      const server = `${host}:${port}`
      const problem = clientCertificateProblem(cause, server, target.shown) ?? plainProblem(cause, server)
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
        const { acceptsAny, through, added, now = Date.now } = target
        const judged = { servername, through, added, now: now() }
        const problem = acceptsAny ? undefined : certificateFault(socket, judged)
        if (problem) refuse(problem)
        else resolve(socket)
      } catch (cause) {
        refuse(cause as Error)
      }
    })
  })
}

/** @returns why a server was refused, if it speaks something else than TLS, such as HTTP */
function plainProblem(cause: NodeJS.ErrnoException, server: string): NetworkFailure | undefined {
  if (cause.code !== 'ERR_SSL_WRONG_VERSION_NUMBER') return undefined
  const why = `${server} answered without TLS. Another program is at this address, or this network wants a person to sign in: open a web page in a browser on it`
  return new NetworkFailure('no_tls', why, cause.code)
}
