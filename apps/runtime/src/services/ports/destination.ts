/** Where a port of the device leads. */
import type { TcpUpstream } from '../engines/engine.ts'

export interface Destination {
  readonly upstream: TcpUpstream
  /** The instance that is there: another one after a redeploy or a restart. */
  readonly instance: object
  /** To be called when something passes: an instance in use is not idle. */
  used(): void
}

/** The destination at this time; may start the service. Rejects if it does not run. */
export type FindDestination = () => Promise<Destination>

/** A port that is open. */
export interface OpenPort {
  /** Its number, also if the system chose it. */
  readonly port: number
  /** Closes it, with all that passes through it. */
  close(): void
}

/** What opens a port needs. */
export interface PortParts {
  readonly hosts: readonly PortHost[]
  readonly port: number
  readonly find: FindDestination
  readonly now: () => number
  readonly room: Room
}

/** Connections and sessions of all ports together: each needs descriptors of the process. */
export interface Room {
  hasPlace(): boolean
  enter(passage: object): void
  leave(passage: object): void
}

export function createRoom(max: number): Room {
  const all = new Set<object>()
  return {
    hasPlace: () => all.size < max,
    enter: (passage) => void all.add(passage),
    leave: (passage) => void all.delete(passage),
  }
}

/** An address of this device to listen on. One that is optional may be absent: a device without IPv6. */
export interface PortHost {
  readonly host: string
  readonly isOptional: boolean
}

const absent = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

/**
 * Opens a port on each address, or not at all.
 *
 * @param open opens it on one address
 * @throws Error of the system, such as EADDRINUSE
 */
export async function openOnEach<T extends OpenPort>(
  hosts: readonly PortHost[],
  open: (host: string) => Promise<T>,
): Promise<T[]> {
  const opened: T[] = []
  try {
    for (const { host, isOptional } of hosts) {
      const one = await open(host).catch((cause: NodeJS.ErrnoException) => {
        if (!isOptional || !absent.has(cause.code ?? '')) throw cause
      })
      if (one) opened.push(one)
    }
  } catch (cause) {
    for (const each of opened) each.close()
    throw cause
  }
  return opened
}

/** The share of a port that one address of the network may have, so that no neighbour locks the others out. */
export const shareOf = (address: string, max: number): number =>
  /^(?:127\.|::1$|::ffff:127\.)/.test(address) ? max : Math.ceil(max / 4)
