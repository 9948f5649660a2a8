/** `GET …/logs?follow=true`: the lines of a container as they come, one JSON object a line. */
import type { ServerResponse } from 'node:http'
import type { LogLine } from '@selvedge/protocol'
import { createBoundedWriter } from '@selvedge/service-kit/http'
import { safely } from '@selvedge/service-kit/safely'
import type { ContainerLog } from '../containers/logs.ts'

/** Bytes of lines that wait for a slow reader; beyond it the oldest are dropped. */
const maxWaitingBytes = 256 * 1024
/** Milliseconds between two checks of whether the caller may still read the log. */
const checkMs = 5000
/** Milliseconds of silence after which the connection is probed, so that a reader that vanished does not stay. */
const probeMs = 15_000
/** Milliseconds for the last lines to leave. A reader that does not read would hold the connection. */
const lastBytesMs = 5000

export interface Following {
  readonly log: Pick<ContainerLog, 'follow'>
  /** Lines of the past, which come first. */
  readonly lines: readonly LogLine[]
  readonly now: () => string
  /** Rejects once the caller may not read the log any more: its token was revoked, or the container removed. */
  readonly mayRead: () => Promise<unknown>
}

/** Sends lines until the client disconnects or loses the right to read them. */
export function followLog(response: ServerResponse, { log, lines, now, mayRead }: Following): void {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' })
  response.flushHeaders()
  response.socket?.setKeepAlive(true, probeMs)
  const dropped = (count: number): LogLine => ({
    time: now(),
    stream: 'runtime',
    text: `${count} older ${count === 1 ? 'line was' : 'lines were'} left out here: the reader is too slow`,
  })
  const write = createBoundedWriter(response, {
    maxBytes: maxWaitingBytes,
    onDropped: (count) => `${JSON.stringify(dropped(count))}\n`,
  })
  const send = (line: LogLine) => write(`${JSON.stringify(line)}\n`)
  lines.forEach(send)
  const stop = log.follow(send)
  const end = () => {
    clearInterval(check)
    response.end()
    setTimeout(() => response.destroy(), lastBytesMs).unref()
  }
  const check = setInterval(
    safely(
      'logs.may-read',
      () => mayRead().catch(end),
      () => response.destroy(),
    ),
    checkMs,
  ).unref()
  response.on(
    'close',
    safely('logs.close', () => {
      clearInterval(check)
      stop()
    }),
  )
}
