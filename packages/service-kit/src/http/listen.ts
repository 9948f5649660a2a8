import { lstatSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { ConfigError } from '../config/index.ts'
import { makeTransientFolder } from '../store/make-folder.ts'
import { bindUnix } from './bind-unix.ts'
import type { Certificate } from './certificate.ts'
import { endConnections } from './close-server.ts'
import { attach, createHttpServer, type Limits, type Listener } from './server.ts'

/** A listener that could not be opened. The message names it, the reason, and what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

/**
 * @param setting what sets the port, for people
 * @param address on which the port is in use. If it is `::1`, the service does not listen on the other address alone: the other program would
 * answer the clients of `localhost`
 */
export const portInUse = (port: number, setting: string, cause: unknown, address?: string): ListenError => {
  const where = address === '::1' ? ' of ::1' : ''
  const why = `port ${port}${where} is in use by another program; stop it or choose another port with ${setting}`
  return new ListenError(why, { cause })
}

/** Whether an address cannot be listened on because this machine does not have it: it has no IPv6, say. */
export const isMissing = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT'

/** Something that listens. `close` stops accepting, lets running requests end for two seconds, then ends them. */
export interface Listening {
  close(): Promise<void>
}

const isLoopback = (address: string): boolean => address === '::1' || /^127(?:\.\d{1,3}){3}$/.test(address)

export interface TcpOptions {
  readonly addresses: readonly string[]
  /** 0: any free one, the same on every address. */
  readonly port: number
  /** What sets the port, for people: `option "listen.port"`. */
  readonly portSetting: string
  /** Opens the certificate, once the addresses are known to be allowed. */
  readonly tls?: () => Certificate
  /** Whether callers must show a key; without it and TLS no address but the loopback is opened. */
  readonly authenticated?: boolean
  readonly limits: Limits
  /** Makes the listener once the port is known. */
  readonly listener: (port: number) => Listener
}

/**
 * Opens one TCP listener an address. An address that this machine does not have (no IPv6, say) is left out, except the first.
 *
 * @throws ListenError, ConfigError for an address that needs TLS and a key
 */
export async function listenTcp(options: TcpOptions): Promise<Listening & { port: number }> {
  const { addresses, tls, authenticated, limits } = options
  for (const address of addresses) {
    if (!isLoopback(address) && !(tls && authenticated)) {
      throw new ConfigError(
        `address ${address} is not of the loopback: anyone on the network could call. ` +
          'Set listen.tlsCert, listen.tlsKey and apiKey, or listen on 127.0.0.1 and ::1',
      )
    }
  }
  const certificate = tls?.()
  for (let attempt = 1; ; attempt++) {
    const servers: Server[] = []
    let port = options.port
    let failedAt: string | undefined
    try {
      for (const [at, address] of addresses.entries()) {
        const server = makeServer(limits, certificate)
        try {
          await open(server, { host: address, port })
        } catch (cause) {
          if (at > 0 && isMissing(cause as NodeJS.ErrnoException)) continue
          failedAt = address
          throw cause
        }
        port = (server.address() as { port: number }).port
        servers.push(server)
      }
      const listener = options.listener(port)
      for (const server of servers) attach(server, listener)
      return {
        port,
        close() {
          certificate?.close()
          return closeAll(servers)
        },
      }
    } catch (cause) {
      await closeAll(servers)
      const taken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
      if (taken && options.port === 0 && attempt < 20) continue
      certificate?.close()
      if (!taken)
        throw new ListenError(`can't listen on port ${port}: ${(cause as Error).message}`, { cause })
      throw portInUse(port, options.portSetting, cause, failedAt)
    }
  }
}

/**
 * Opens a Unix socket. One that a dead process left behind is replaced; one that answers, a file and a link are not.
 *
 * @param mode permissions of the socket, such as 0o660
 * @throws ListenError
 */
export async function listenUnix(
  path: string,
  mode: number,
  limits: Limits,
  listener: Listener,
): Promise<Listening> {
  if (Buffer.byteLength(path) > 107) {
    throw new ConfigError(
      `the path of the Unix socket is longer than 107 bytes: ${path}; choose a shorter state folder`,
    )
  }
  makeTransientFolder(dirname(path))
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found) {
    if (!found.isSocket())
      throw new ListenError(
        `${path} is not a socket, and was not removed; choose another path for the socket`,
      )
    if (await answers(path))
      throw new ListenError(`another process answers at ${path}; stop it or choose another state folder`)
    rmSync(path)
  }
  const server = makeServer(limits)
  await bindUnix(server, path, mode)
  attach(server, listener)
  return { close: () => closeAll([server]) }
}

function makeServer(limits: Limits, certificate?: Certificate): Server {
  if (!certificate) return createHttpServer(limits)
  const server = createHttpServer(limits, certificate.current())
  certificate.follow(server)
  return server
}

/** Resolves when a server listens. @throws (it rejects with) the error of the system */
export function open(server: Server, where: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...where, ipv6Only: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    // Any other failure, such as a full queue of connections, comes from a socket that a process listens on.
    socket.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT' && code !== 'ENOTSOCK'),
    )
  })
}

/** Milliseconds for the requests under way when a listener closes. */
const graceMs = 2000

async function closeAll(servers: readonly Server[]): Promise<void> {
  await Promise.all(
    servers.map((server) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      endConnections(server, graceMs)
      return closed
    }),
  )
}
