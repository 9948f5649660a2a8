/** The health check of gRPC (`grpc.health.v1.Health/Check`): https://github.com/grpc/grpc/blob/master/doc/health-checking.md */
import type { Ending, Upstream } from '../engines/engine.ts'
import { waitUntilHealthy } from '../engines/wait-until-healthy.ts'
import { askHttp2 } from './ask-http2.ts'
import { probeMs } from './probe.ts'

const path = '/grpc.health.v1.Health/Check'
/** A message of gRPC without content: not compressed, 0 bytes. It is for the server as a whole. */
const emptyMessage = Buffer.alloc(5)
const statuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']
const serving = 1

/** @returns undefined if the service reports that it serves, else what is wrong. Never rejects */
export async function probeGrpc(upstream: Upstream, timeoutMs: number): Promise<string | undefined> {
  const fields = { ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
  const answer = await askHttp2(upstream, fields, emptyMessage, timeoutMs)
  if (typeof answer === 'string') return `${path} ${answer}`
  if (answer.status !== 200) return `${path} answered ${answer.status}`
  const code = answer.fields['grpc-status']
  if (code !== '0') return `${path} answered with the gRPC status ${code ?? 'missing'}`
  const status = statusIn(answer.body)
  if (status === serving) return undefined
  return `${path} answered ${status === undefined ? 'with something else' : (statuses[status] ?? status)}`
}

/**
 * The status in a `HealthCheckResponse`: field 1, a number. Left out, it is 0.
 *
 * @param body one message with the 5 bytes before it
 * @returns undefined if it is no such message
 */
export function statusIn(body: Buffer): number | undefined {
  if (body.length < 5 || body[0] !== 0) return undefined
  const message = body.subarray(5)
  if (message.length !== body.readUInt32BE(1)) return undefined
  if (message.length === 0) return 0
  return message.length === 2 && message[0] === 0x08 && message[1]! < 0x80 ? message[1] : undefined
}

/** Checks until the service reports that it serves, or the time has passed. @returns what is wrong then */
export const awaitGrpc = (
  upstream: Upstream,
  seconds: number,
  gone: Promise<Ending>,
): Promise<string | undefined> =>
  waitUntilHealthy(() => probeGrpc(upstream, probeMs), {
    seconds,
    pauseMs: 100,
    gone,
  })
