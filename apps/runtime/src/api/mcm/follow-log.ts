/** `GET …/logs?follow=true`: the lines of a container as they come, one JSON object a line. */
import type { ServerResponse } from 'node:http'
import type { LogLine, RpcError } from '@selvedge/protocol'
import { createBoundedWriter } from '@selvedge/service-kit/http'
import { safely } from '@selvedge/service-kit/safely'
import type { ContainerLog } from '../../services/containers/logs.ts'

/** Bytes of lines that wait for a slow reader; beyond it the oldest are dropped. */
const maxWaitingBytes = 256 * 1024
/** Milliseconds of silence after which the connection is probed, so that a reader that vanished does not stay. */
const probeMs = 15_000
/** Milliseconds for the last lines to leave. A reader that does not read would hold the connection. */
const lastBytesMs = 5000

export interface Following {
  readonly log: Pick<ContainerLog, 'follow'>
  /** Lines of the past, which come first. */
  readonly lines: readonly LogLine[]
  readonly now: () => string
  /**
   * Calls `end` when the caller may not read the log any more: its token expired or was revoked, its account left, or the container
   * was removed. @returns what to call when the answer ended
   */
  readonly endWhen: (end: (cause: RpcError) => void) => () => void
}

/** Sends lines until the client disconnects or loses the right to read them. */
export function followLog(response: ServerResponse, { log, lines, now, endWhen }: Following): void {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' })
  response.flushHeaders()
  response.socket?.setKeepAlive(true, probeMs)
  const ownLine = (text: string): LogLine => ({ time: now(), stream: 'runtime', text })
  const dropped = (count: number): LogLine =>
    ownLine(`${count} older ${count === 1 ? 'line was' : 'lines were'} left out here: the reader is too slow`)
  const write = createBoundedWriter(response, {
    maxBytes: maxWaitingBytes,
    onDropped: (count) => `${JSON.stringify(dropped(count))}\n`,
  })
  const send = (line: LogLine) => write(`${JSON.stringify(line)}\n`)
  lines.forEach(send)
  const stop = log.follow(send)
  const unwatch = endWhen(({ reason, message }) => {
    stop()
    send(ownLine(`this log ends here: ${reason}: ${message}`))
    response.end()
    setTimeout(() => response.destroy(), lastBytesMs).unref()
  })
  response.on(
    'close',
    safely('logs.close', () => {
      unwatch()
      stop()
    }),
  )
}
