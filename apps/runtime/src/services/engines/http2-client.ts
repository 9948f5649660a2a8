/** How the runtime connects to instances, and what it accepts of those that speak HTTP/2. */
import { connect, type Socket } from 'node:net'
import type { Upstream } from './engine.ts'

/** Streams of a connection until the instance has sent its own limit. */
export const firstStreams = 100

/** What an instance may send: bytes of the headers of an answer, and frames that are invalid, before its connection ends. */
export const clientOptions = {
  maxHeaderListPairs: 132,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  peerMaxConcurrentStreams: firstStreams,
  settings: { enablePush: false, maxHeaderListSize: 64 * 1024 },
} as const

export const connectTo = (upstream: Upstream): Socket =>
  'socketPath' in upstream ? connect(upstream.socketPath) : connect(upstream)
