/** Limits of JSON-RPC over WebSocket. */
import { maxConnectionsOf } from '../http/connections.ts'

export interface SocketLimits {
  /** Bytes of one message. */
  readonly messageBytes: number
  /** Connections in all; those of a listener for HTTP are at least twice as many. */
  readonly connections: number
  /** Connections without a client that has proved a valid token. */
  readonly unauthenticated: number
  /** Connections of one caller that has proved a valid token; further ones count as those without. */
  readonly ofCaller: number
  /** Calls of one connection that may be under way; further messages wait, and the connection is not read meanwhile. */
  readonly callsUnderWay: number
  /** Messages that were read already and wait. */
  readonly waitingMessages: number
  /** Bytes of answers that may wait for the client; beyond it the connection is not read. */
  readonly unsentBytes: number
  /** Bytes that may wait for the client when the server sends something on its own, such as a notification. */
  readonly unsentNotificationBytes: number
  /** Messages of more than 64 KiB that arrive, wait or are not answered yet, of all connections together. */
  readonly largeMessages: number
  /** Milliseconds between two pings. A client that sends nothing until the next one, or reads nothing, is gone. */
  readonly pingMs: number
  /** Milliseconds for the calls under way and the closing handshake. */
  readonly closeMs: number
}

export const socketLimits = (): SocketLimits => ({
  messageBytes: 1024 * 1024,
  connections: Math.min(1024, Math.floor(maxConnectionsOf() / 2)),
  unauthenticated: 64,
  ofCaller: 64,
  callsUnderWay: 16,
  waitingMessages: 2000,
  unsentBytes: 256 * 1024,
  unsentNotificationBytes: 64 * 1024,
  largeMessages: 64,
  pingMs: 30_000,
  closeMs: 2000,
})

/** Frames of a message. Each costs memory of its own, however short it is. */
export const maxFragments = 1024
/** Pieces in which the bytes of a frame may arrive: as many as segments of a network for the largest message. */
export const maxPieces = 4096
/** Bytes of frame headers, and of pings between the frames, that a message may have beside its content. */
export const maxFramingBytes = 256 * 1024
