/**
 * A connection through an HTTP proxy (CONNECT, RFC 9110 § 9.3.6). Whatever the proxy sends, the answer has a limit in bytes and in
 * time, and ends only this connection.
 */
import { isIP, type Socket } from 'node:net'
import { createAnswerReader, type ProxyAnswer } from './answer-reader.ts'
import type { ServerContext } from './contexts.ts'
import { hostOf, portOf } from './host-of.ts'
import { NetworkFailure } from './network-failure.ts'
import { openTcp } from './open-tcp.ts'
import { openTls } from './open-tls.ts'

/** Milliseconds from the first packet to the answer of the proxy. */
const tunnelTimeoutMs = 15_000

export interface TunnelTarget {
  readonly proxy: URL
  /** User name and password with a colon between them. */
  readonly credentials: string | undefined
  /** Name or address that the proxy connects to, without brackets. */
  readonly host: string
  readonly port: number
  /** Authorities and certificate for a proxy that is reached by TLS. */
  readonly tls: ServerContext
  readonly timeoutMs?: number
  /** For any protocol, not for HTTP alone: the other side may send first, and one direction may end before the other. */
  readonly isTcp?: boolean
}

/** @throws NetworkFailure `proxy_…`, or `certificate_…` of the proxy */
export async function openTunnel(target: TunnelTarget): Promise<Socket> {
  const { timeoutMs = tunnelTimeoutMs } = target
  const deadline = performance.now() + timeoutMs
  const socket = await reach(target, timeoutMs)
  try {
    const answer = await ask(socket, target, deadline)
    expectTunnel(answer, target)
    if (answer.extra.length > 0) socket.unshift(answer.extra)
    return socket
  } catch (cause) {
    socket.destroy()
    throw cause instanceof NetworkFailure ? cause : unanswered(target, cause as NodeJS.ErrnoException)
  }
}

const unreachable = ({ origin }: URL, { code, message }: NodeJS.ErrnoException): NetworkFailure =>
  new NetworkFailure(
    'proxy_unreachable',
    `the proxy ${origin} can't be used: ${message || code}. Check network.proxy (or HTTPS_PROXY), and that the proxy runs`,
    code ?? 'ECONNRESET',
  )

/** Why a proxy that is there did not answer: where it needs too long, it may be the host that does not answer. */
function unanswered({ proxy, host, port }: TunnelTarget, cause: NodeJS.ErrnoException): NetworkFailure {
  if (cause.code === 'client_certificate') return new NetworkFailure(cause.code, cause.message)
  if (cause.code !== 'ETIMEDOUT') return unreachable(proxy, cause)
  const next = 'Check that it can reach this host, or add the host to network.noProxy'
  const why = `the proxy ${proxy.origin} did not connect to ${host}:${port}: ${cause.message}. ${next}`
  return new NetworkFailure('proxy_timeout', why, cause.code)
}

/** A connection to the proxy itself. */
async function reach({ proxy, tls, isTcp = false }: TunnelTarget, timeoutMs: number): Promise<Socket> {
  const [host, port] = [hostOf(proxy), portOf(proxy)]
  try {
    const socket = await openTcp({ host, port, allowHalfOpen: isTcp, timeoutMs })
    if (proxy.protocol !== 'https:') return socket
    return await openTls({ host, port, socket, timeoutMs, ...tls })
  } catch (cause) {
    if (cause instanceof NetworkFailure) throw cause
    throw unreachable(proxy, cause as NodeJS.ErrnoException)
  }
}

const noAnswer = (ms: number): Error =>
  Object.assign(new Error(`no answer within ${ms / 1000} s`), { code: 'ETIMEDOUT' })

/** No part of it has a line break: URLs and Base64 have no such characters. */
function requestFor({ host, port, credentials }: TunnelTarget): string {
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  const fields = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`]
  if (credentials !== undefined)
    fields.push(`Proxy-Authorization: Basic ${Buffer.from(credentials).toString('base64')}`)
  return `${fields.join('\r\n')}\r\n\r\n`
}

function ask(socket: Socket, target: TunnelTarget, deadline: number): Promise<ProxyAnswer> {
  const { proxy, timeoutMs = tunnelTimeoutMs } = target
  const read = createAnswerReader(proxy.origin)
  let stop = (): void => undefined
  const answered = new Promise<ProxyAnswer>((resolve, reject) => {
    const late = setTimeout(() => reject(noAnswer(timeoutMs)), deadline - performance.now())
    function onData(chunk: Buffer): void {
      try {
        const answer = read(chunk)
        if (!answer) return
        socket.pause()
        resolve(answer)
      } catch (cause) {
        reject(cause)
      }
    }
    function onClose(): void {
      const why = 'it closed the connection without an answer'
      reject(Object.assign(new Error(why), { code: 'ECONNRESET' }))
    }
    stop = () => {
      clearTimeout(late)
      socket.off('data', onData).off('error', reject).off('close', onClose)
    }
    socket.on('data', onData).on('error', reject).on('close', onClose)
    socket.write(requestFor(target), 'latin1')
  })
  return answered.finally(() => stop())
}

/** @throws NetworkFailure unless the proxy has opened the tunnel */
function expectTunnel(answer: ProxyAnswer, { proxy, host, port, credentials, isTcp }: TunnelTarget): void {
  const { status, contentType, extra } = answer
  const { origin } = proxy
  // tinyproxy answers 401 to a wrong password.
  if (status === 407 || status === 401)
    throw new NetworkFailure('proxy_credentials', passwordProblem(answer, origin, credentials))
  if (status === 511 || (status >= 300 && status < 400) || (status < 300 && contentType.includes('html')))
    throw new NetworkFailure(
      'proxy_sign_in_page',
      `the proxy ${origin} answered with a page (HTTP ${status}), as networks do that want a person to sign in: open a web page in a browser on this network first`,
    )
  if (status >= 200 && status < 300) {
    if (extra.length === 0 || isTcp) return
    throw new NetworkFailure(
      'proxy_answer',
      `the proxy ${origin} sent ${extra.length} bytes behind its answer, before anything was sent to ${host}`,
    )
  }
  const ports = status === 403 && port !== 443 ? ' Many proxies allow only port 443.' : ''
  throw new NetworkFailure(
    'proxy_refused',
    `the proxy ${origin} does not connect to ${host}:${port} (HTTP ${status}).${ports} Ask who runs it to allow this host, or add it to network.noProxy`,
    status === 502 || status === 503 || status === 504 ? 'ECONNREFUSED' : undefined,
  )
}

function passwordProblem(
  { status, schemes }: ProxyAnswer,
  origin: string,
  credentials: string | undefined,
): string {
  if (schemes.length > 0 && !schemes.includes('basic'))
    return `the proxy ${origin} accepts only the sign-in methods ${schemes.join(', ')}, and Selvedge has only Basic: ask who runs it for an exception for this device`
  if (credentials === undefined)
    return `the proxy ${origin} needs a user name and a password (HTTP ${status}): put user:password into the file of network.proxyAuthFile`
  return `the proxy ${origin} refused the user name or the password (HTTP ${status}): check the file of network.proxyAuthFile, or the environment variable`
}
