/** Follows a receiver until it is stopped, and reconnects when the receiver was unavailable. */
import { createReadStream } from 'node:fs'
import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import { createGpsdReader, watchCommand } from './gpsd.ts'
import { createNmeaReader } from './nmea.ts'
import type { Reading } from './reading.ts'

export type ReceiverSource =
  | { readonly kind: 'gpsd'; readonly host: string; readonly port: number }
  | { readonly kind: 'nmea'; readonly path: string }

/** Port that gpsd listens on by default. */
const gpsdPort = 2947

/** @param text `gpsd://host:port`, or `nmea:` and the path of a device or a file; undefined if it is neither */
export function parseSource(text: string): ReceiverSource | undefined {
  if (text.startsWith('nmea:') && text.length > 5) return { kind: 'nmea', path: text.slice(5) }
  const address = text.replace('gpsd:', 'http:')
  const url = text.startsWith('gpsd://') && URL.canParse(address) ? new URL(address) : undefined
  if (!url || url.hostname === '' || url.pathname !== '/') return undefined
  return {
    kind: 'gpsd',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (text.endsWith(':80') ? 80 : gpsdPort) : Number(url.port),
  }
}

export interface Follow {
  readonly onReading: (reading: Reading) => void
  /** Why there are no readings; undefined when readings arrive again. */
  readonly onTrouble: (reason: string | undefined) => void
  /** Milliseconds until the next attempt; undefined: the source is complete and is not opened again. */
  readonly againMs?: number
}

/** @returns when the source is complete; `stop` ends it */
export function follow(
  source: ReceiverSource,
  { onReading, onTrouble, againMs }: Follow,
): { stop(): void; ended: Promise<void> } {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let stream: Readable | undefined
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  function open(): void {
    const read = source.kind === 'gpsd' ? createGpsdReader() : createNmeaReader()
    let trouble: string | undefined
    let isWell = false
    stream = openStream(source).setEncoding('utf8')
    const give = (readings: readonly Reading[]) => {
      for (const reading of readings) {
        if (!isWell) onTrouble(undefined)
        isWell = true
        onReading(reading)
      }
    }
    stream.on('data', (chunk: string) => give(read(chunk)))
    stream.on('error', (cause) => {
      trouble = cause.message
    })
    stream.on('close', () => {
      if (!isStopped) give(read.end())
      if (isStopped || againMs === undefined) {
        if (trouble !== undefined && !isStopped) onTrouble(trouble)
        return end()
      }
      onTrouble(trouble ?? 'it ended')
      timer = setTimeout(open, againMs)
    })
  }

  open()
  return {
    stop() {
      isStopped = true
      clearTimeout(timer)
      stream?.destroy()
      end()
    },
    ended,
  }
}

/** Milliseconds without data from gpsd, which reports every second, after which the connection is opened again. */
const silenceMs = 60_000

function openStream(source: ReceiverSource): Readable {
  if (source.kind === 'nmea') return createReadStream(source.path)
  const socket = connect(source.port, source.host, () => socket.write(watchCommand))
  socket.setTimeout(silenceMs, () => socket.destroy(new Error(`gpsd said nothing for ${silenceMs / 1000} s`)))
  return socket
}
