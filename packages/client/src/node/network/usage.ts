/** Bytes of the connections of a program, by what they are for: what TCP carries, with TLS, and without the headers of packets. */
import type { Socket } from 'node:net'

export interface Usage {
  readonly sentBytes: number
  readonly receivedBytes: number
}

export interface UsageCount {
  /** Counts a connection, from now until it is closed. */
  follow(purpose: string, socket: Socket): void
  /** Since the start, for each purpose. */
  read(): Readonly<Record<string, Usage>>
}

type Counted = Pick<Socket, 'bytesRead' | 'bytesWritten'>

export function createUsageCount(): UsageCount {
  const closed = new Map<string, Usage>()
  const open = new Map<Counted, string>()

  function plus(purpose: string, { bytesRead, bytesWritten }: Counted, totals = closed): void {
    const { sentBytes = 0, receivedBytes = 0 } = totals.get(purpose) ?? {}
    totals.set(purpose, {
      sentBytes: sentBytes + bytesWritten,
      receivedBytes: receivedBytes + bytesRead,
    })
  }

  return {
    follow(purpose, socket) {
      if (socket.closed) return plus(purpose, socket)
      open.set(socket, purpose)
      socket.once('close', () => {
        open.delete(socket)
        plus(purpose, socket)
      })
    },
    read() {
      const totals = new Map(closed)
      for (const [socket, purpose] of open) plus(purpose, socket, totals)
      return Object.fromEntries(totals)
    },
  }
}
