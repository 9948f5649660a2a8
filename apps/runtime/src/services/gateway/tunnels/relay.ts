/**
 * The bytes of a TCP connection of a function. On the function's side they are in frames, so that an end, a reset and a closed
 * socket can be distinguished: `bytes` with a payload are data, empty `bytes` the end of one direction, a `message` the code of an error.
 * An empty `source` means nothing: writing it shows whether the function is still there.
 */
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { safely } from '@selvedge/service-kit/safely'
import { createFrameReader, encodeFrame, maxPayload, ProtocolError } from '../../engines/function/frames.ts'

/** Milliseconds for bytes that the function has sent before it closed. */
const closeMs = 2000
const endOfData = encodeFrame('bytes', new Uint8Array())
const probe = encodeFrame('source', new Uint8Array())

/** Code of a system error, such as `ECONNRESET`; nothing else of an error is for the function. */
export const codeOf = (cause: unknown): string => {
  const { code } = cause as NodeJS.ErrnoException
  return typeof code === 'string' && /^E[A-Z0-9_]{2,30}$/.test(code) ? code : 'ECONNRESET'
}

/**
 * Passes bytes between both sides until both have closed. Each side is read no faster than the other one reads.
 *
 * @param client connection of the function
 * @param upstream an open connection; its idle time is set
 * @param probeMs milliseconds between two probes of a function that is not read while the other side accepts nothing
 */
export function relay(client: Duplex, upstream: Socket, probeMs: number): void {
  let closing: NodeJS.Timeout | undefined
  const close = safely('tunnel.close', () => {
    clearTimeout(closing)
    client.destroy()
    upstream.destroy()
  })
  /** The function has closed: what it has sent before still arrives. */
  const closeSoon = safely('tunnel.close-soon', () => {
    if (upstream.destroyed) return close()
    closing ??= setTimeout(close, closeMs)
    upstream.destroySoon()
  })
  sendFrames(upstream, client, close)
  readFrames(client, upstream, { close, probeMs })
  client.on('end', closeSoon)
  client.on('close', closeSoon)
  upstream.on('close', () => clearTimeout(closing))
}

function sendFrames(upstream: Socket, client: Duplex, close: () => void): void {
  let failure: unknown
  upstream.on(
    'data',
    safely(
      'tunnel.data',
      (chunk: Buffer) => {
        if (client.write(encodeFrame('bytes', chunk))) return
        upstream.pause()
        client.once('drain', () => upstream.resume())
      },
      close,
    ),
  )
  const onEnd = () => {
    if (client.writable) client.write(endOfData)
  }
  upstream.on('end', safely('tunnel.data-end', onEnd, close))
  upstream.on('error', (cause) => {
    failure = cause
  })
  const onClose = () => {
    if (!client.writable) return close()
    if (failure === undefined) client.end()
    else client.end(encodeFrame('message', Buffer.from(codeOf(failure))))
  }
  upstream.on('close', safely('tunnel.closed', onClose, close))
}

/** @throws (in its callback, for `close`) ProtocolError */
function readFrames(
  client: Duplex,
  upstream: Socket,
  { close, probeMs }: { readonly close: () => void; readonly probeMs: number },
): void {
  const read = createFrameReader(maxPayload)
  let probing: NodeJS.Timeout | undefined
  const goOn = () => {
    clearInterval(probing)
    client.resume()
  }
  /** The end of a connection that is not read would not be noticed. */
  const sendProbe = safely('tunnel.probe', () => {
    if (client.writable && client.writableLength === 0) client.write(probe)
  })
  const onData = (chunk: Buffer) => {
    for (const { kind, payload } of read(chunk)) {
      if (kind !== 'bytes') throw new ProtocolError(`a frame of the kind ${kind}`)
      if (payload.length === 0) upstream.end()
      else if (upstream.writableEnded) throw new ProtocolError('bytes after their end')
      else upstream.write(payload)
    }
    if (!upstream.writableNeedDrain) return
    client.pause()
    clearInterval(probing)
    probing = setInterval(sendProbe, probeMs).unref()
    upstream.once('drain', goOn)
  }
  const onChunk = (chunk: Buffer) => {
    try {
      onData(chunk)
    } catch (cause) {
      // What a function sends is its own concern: its connection closes, and no log is filled.
      if (!(cause instanceof ProtocolError)) throw cause
      close()
    }
  }
  client.on('data', safely('tunnel.frames', onChunk, close))
  client.on('close', () => clearInterval(probing))
  upstream.on('close', () => clearInterval(probing))
}
