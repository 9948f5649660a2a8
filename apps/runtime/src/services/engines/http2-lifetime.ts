/**
 * Keeps the native object of a session of HTTP/2 until those of its streams are collected. Node.js ends the whole process (an
 * assertion in `~Http2Session`) when it collects the session first, and a stream still has headers that were never complete: a peer
 * could bring this about. Found with 24.21.0; the tests of hostile clients and services of HTTP/2 do it.
 */
import type { Http2Session, Http2Stream } from 'node:http2'
import { safely } from '@selvedge/service-kit/safely'

/** What is registered is held until the other object is collected, and one collection later it may be collected as well. */
const held = new FinalizationRegistry<object>(() => undefined)

/** To be called for each stream, before anything else can fail. */
export function outliveStream(session: Http2Session, stream: Http2Stream): void {
  const hold = safely('http2.hold', () => {
    const native = nativeOf(session)
    const own = nativeOf(stream)
    if (native && own) held.register(own, native)
  })
  if (stream.pending) stream.once('ready', hold)
  else hold()
}

/** The native object of a session or a stream. The library gives it under a symbol alone. */
function nativeOf(owner: object): object | undefined {
  const symbol = Object.getOwnPropertySymbols(owner).find(({ description }) => description === 'kHandle')
  return symbol && (owner as Record<symbol, object | undefined>)[symbol]
}
