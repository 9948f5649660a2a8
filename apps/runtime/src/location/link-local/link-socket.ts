/**
 * One socket of multicast DNS, for one link. Whatever fails (the port, the group, a packet that cannot be sent) is tried
 * again with back-off: an address may be tentative, a buffer full, or the port in use.
 */
import type { RemoteInfo, Socket } from 'node:dgram'
import { safely } from '@selvedge/service-kit/safely'
import type { Link, Network } from './networks.ts'

export const multicastPort = 5353
const groups = { udp4: '224.0.0.251', udp6: 'ff02::fb' } as const
/** Milliseconds until the next attempt; each failure doubles them. */
const backOff = { first: 1000, last: 60_000 } as const

export interface Trouble {
  readonly network: string
  readonly family: Link['family']
  readonly cause: Error
  /** Failures since it worked last: 1 or more. */
  readonly failures: number
  /** Milliseconds until the next attempt. */
  readonly retryMs: number
}

export interface LinkSocketParts {
  readonly network: Network
  readonly link: Link
  readonly onPacket: (packet: Buffer, source: RemoteInfo) => void
  /** Called when packets may be sent for the first time, and again after they could not be sent. */
  readonly onReady: () => void
  readonly onTrouble: (trouble: Trouble) => void
}

export interface LinkSocket {
  readonly network: Network
  readonly link: Link
  isReady(): boolean
  /** Sends to the group. */
  send(packet: Buffer): void
  /** Sends to one peer. A failure is the peer's problem and changes nothing here. */
  sendTo(packet: Buffer, port: number, address: string): void
  close(): void
}

/** Loaded when it is needed: a start does not wait for it. */
const dgram = () => process.getBuiltinModule('node:dgram')

export function openLinkSocket({ network, link, ...parts }: LinkSocketParts): LinkSocket {
  let socket: Socket | undefined
  let isReady = false
  let failures = 0
  let timer: NodeJS.Timeout | undefined

  function open(): void {
    const opening = dgram().createSocket({
      type: link.family,
      reuseAddr: true,
      ipv6Only: link.family === 'udp6',
    })
    socket = opening
    const isCurrent = () => socket === opening
    opening.on(
      'error',
      safely('link-local.error', (cause: Error) => {
        if (isCurrent()) reopen(cause)
      }),
    )
    opening.on('message', safely('link-local.message', parts.onPacket))
    const bound = () => {
      if (isCurrent()) join(opening)
    }
    opening.bind(multicastPort, safely('link-local.bound', bound))
  }

  function join(joining: Socket): void {
    try {
      joining.addMembership(groups[link.family], link.address)
      joining.setMulticastInterface(link.address)
      joining.setMulticastTTL(255)
    } catch (cause) {
      reopen(cause as Error)
      return
    }
    isReady = true
    parts.onReady()
  }

  function reopen(cause: Error): void {
    shut()
    retry(cause, open)
  }

  function retry(cause: Error, attempt: () => void): void {
    clearTimeout(timer)
    const retryMs = Math.min(backOff.last, backOff.first * 2 ** failures++)
    parts.onTrouble({ network: network.name, family: link.family, cause, failures, retryMs })
    const run = () => {
      timer = undefined
      attempt()
    }
    timer = setTimeout(safely('link-local.retry', run), retryMs)
  }

  function onSent(cause: Error | null): void {
    if (!isReady) return
    if (!cause) failures = 0
    // Receiving may still work: only sending is tried again.
    else if (timer === undefined) retry(cause, parts.onReady)
  }

  function shut(): void {
    isReady = false
    const closing = socket
    socket = undefined
    try {
      closing?.close()
    } catch {
      // It never opened.
    }
  }

  open()
  return {
    network,
    link,
    isReady: () => isReady,
    send(packet) {
      if (isReady) socket?.send(packet, multicastPort, groups[link.family], safely('link-local.sent', onSent))
    },
    sendTo(packet, port, address) {
      if (isReady) socket?.send(packet, port, address, () => undefined)
    },
    close() {
      clearTimeout(timer)
      shut()
    },
  }
}
