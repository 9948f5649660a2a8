/** The ports of the device that are open for containers, or should be. */
import { type PortMapping, type PortRecord, portName } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import { createRoom, type FindDestination, type OpenPort, type PortHost } from './destination.ts'
import { openTcpPort } from './tcp-port.ts'
import { openUdpPort } from './udp-port.ts'

export type ReachedHosts = Readonly<Record<PortRecord['reach'], readonly PortHost[]>>

/** Addresses that a port is open at. */
export const reachedHosts: ReachedHosts = {
  loopback: [
    { host: '127.0.0.1', isOptional: false },
    { host: '::1', isOptional: true },
  ],
  network: [
    { host: '0.0.0.0', isOptional: false },
    { host: '::', isOptional: true },
  ],
}

const openers = { tcp: openTcpPort, udp: openUdpPort } as const

interface Held {
  readonly id: string
  readonly reach: PortRecord['reach']
  /** Undefined while it is not open. */
  readonly port: OpenPort | undefined
  readonly problem: string | null
}

export interface HeldPortsParts {
  readonly log: Log
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Connections and sessions of all ports together. */
  readonly maxPassages: number
  /** For tests: where ports are open. */
  readonly hosts?: ReachedHosts
}

export interface HeldPorts {
  /** @param name such as `1883/tcp` */
  get(name: string): Held | undefined
  all(): [name: string, held: Held][]
  /** Opens a port for a container. @returns also one that could not be opened, which is held to be tried again */
  open(id: string, mapping: PortMapping, reach: PortRecord['reach']): Promise<Held>
  drop(name: string): void
  isClosed(): boolean
  close(): void
}

/** @param findAt finds where a port leads */
export function createHeldPorts(
  { log, now, maxPassages, hosts = reachedHosts }: HeldPortsParts,
  findAt: (name: string) => FindDestination,
): HeldPorts {
  const room = createRoom(maxPassages)
  const held = new Map<string, Held>()
  let isClosed = false

  async function tryToOpen(id: string, mapping: PortMapping, reach: PortRecord['reach']): Promise<Held> {
    const name = portName(mapping)
    const { port, protocol } = mapping
    try {
      const opened = await openers[protocol]({ hosts: hosts[reach], port, find: findAt(name), now, room })
      if (isClosed) opened.close()
      return { id, reach, port: opened, problem: null }
    } catch (cause) {
      const problem = describeProblem(cause as NodeJS.ErrnoException)
      if (held.get(name)?.problem !== problem)
        log.warn('a port of a container could not be opened', { container: id, port: name, problem })
      return { id, reach, port: undefined, problem }
    }
  }

  function drop(name: string): void {
    held.get(name)?.port?.close()
    held.delete(name)
  }

  return {
    get: (name) => held.get(name),
    all: () => [...held],
    async open(id, mapping, reach) {
      const one = await tryToOpen(id, mapping, reach)
      const before = held.get(portName(mapping))
      // A port that is open stays with its container.
      if (one.port !== undefined || before?.port === undefined) held.set(portName(mapping), one)
      return one
    },
    drop,
    isClosed: () => isClosed,
    close() {
      isClosed = true
      for (const name of [...held.keys()]) drop(name)
    },
  }
}

function describeProblem({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return 'another program of this device has it'
  if (code === 'EACCES') return 'the user of the runtime may not open it'
  return message.slice(0, 200)
}
