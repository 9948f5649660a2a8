/** Reads what the discovery service sends over time: a long answer, or events that never end. */
import { pipeline, Readable, type Transform } from 'node:stream'
import type { GetFetch } from '@selvedge/service-kit/network'
import { safely } from '@selvedge/service-kit/safely'

/** Milliseconds until the head of an answer, for all of a long one, and without a keep-alive of a stream (it sends one every 15 s). */
const limits = { headMs: 10_000, bodyMs: 300_000, silenceMs: 45_000 }
/** Largest event in characters. */
const maxEventCharacters = 10_000

/** A signal that aborts when nothing has called `again` for a while. */
function createDeadline(signal?: AbortSignal) {
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  return {
    signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
    again(ms: number): void {
      clearTimeout(timer)
      timer = setTimeout(
        safely('discovery.late', () => late.abort(new Error(`it exceeded its limit of ${ms / 1000} s`))),
        ms,
      ).unref()
    },
    stop: () => clearTimeout(timer),
  }
}

/**
 * A response with a long body: its head must arrive within 10 s, and all of it within five minutes: 100,000 locations need 150 s at 30 kB/s.
 *
 * @param onEnd called once, when the body was read, has failed or was given up
 * @throws Error if it does not answer
 */
export async function openLongAnswer(
  fetch: GetFetch,
  url: string,
  headers: Record<string, string>,
  onEnd: () => void,
): Promise<Response> {
  const deadline = createDeadline()
  const end = () => {
    deadline.stop()
    onEnd()
  }
  try {
    deadline.again(limits.headMs)
    const response = await fetch(url, { headers, signal: deadline.signal, redirect: 'error' })
    if (!response.ok || !response.body) {
      await response.body?.cancel()
      throw new Error(`it answered HTTP ${response.status}`)
    }
    deadline.again(limits.bodyMs)
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    response.body.pipeTo(writable, { signal: deadline.signal }).then(end, end)
    return new Response(readable)
  } catch (cause) {
    end()
    throw cause
  }
}

/** The body of a long answer, to be sent on. */
export const bodyOf = ({ body }: Response): Readable => Readable.fromWeb(body as never)

/** The body of a long answer, changed on its way. A reader that leaves ends both, and so does the end of the answer. */
export const through = (body: Readable, transform: Transform): Readable =>
  pipeline(body, transform, () => undefined)

/** The stream does not consist of JSON events, or one of them is too long. */
export class EventStreamError extends Error {
  override readonly name = 'EventStreamError'
}

/**
 * Reads the JSON events of a stream, in whatever pieces it comes. It reads each character once and stores one line at most.
 *
 * @param onData gets the JSON of each event
 * @throws EventStreamError
 */
export function createEventReader(onData: (json: unknown) => void): (piece: string) => void {
  let line = ''
  const add = (part: string) => {
    if (line.length + part.length > maxEventCharacters)
      throw new EventStreamError('it sent an event that is too long')
    line += part
  }
  return (piece) => {
    const [first, ...more] = piece.split('\n')
    add(first!)
    for (const next of more) {
      if (line.startsWith('data: ')) onData(readEvent(line.slice(6)))
      line = ''
      add(next)
    }
  }
}

function readEvent(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new EventStreamError('it sent an event that is not JSON', { cause })
  }
}

/**
 * Follows a stream of server-sent events.
 *
 * @param onData gets the JSON of each event
 * @throws Error when the stream ends: it was not opened, was silent, or sent something else
 */
export async function followEvents(
  fetch: GetFetch,
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
  onData: (json: unknown) => void,
): Promise<void> {
  const deadline = createDeadline(signal)
  try {
    deadline.again(limits.headMs)
    const response = await fetch(url, { headers, signal: deadline.signal, redirect: 'error' })
    if (!response.ok || !response.body) throw new Error(`it answered HTTP ${response.status}`)
    const read = createEventReader(onData)
    deadline.again(limits.silenceMs)
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      deadline.again(limits.silenceMs)
      read(chunk)
    }
  } finally {
    deadline.stop()
  }
}
