/**
 * Ends the connection of a client that reads nothing. The platform of functions cannot: it waits for the client's answer to its
 * close frame, and holds what was not read.
 */
import type { Duplex } from 'node:stream'
import { safely } from '@selvedge/service-kit/safely'

/** Milliseconds in which a client must read something of what waits for it. */
export const maxUnreadMs = 15_000

/**
 * @param end is called for a client that has read nothing for {@link maxUnreadMs}, or for up to twice as long
 * @returns what to call when the connection is over
 */
export function watchReader(socket: Duplex, end: () => void, unreadMs = maxUnreadMs): () => void {
  let hasRead = true
  const onDrain = () => {
    hasRead = true
  }
  socket.on('drain', onDrain)
  const check = safely('gateway.unread', () => {
    if (socket.writableNeedDrain && !hasRead) end()
    hasRead = !socket.writableNeedDrain
  })
  const timer = setInterval(check, unreadMs)
  timer.unref()
  return () => {
    clearInterval(timer)
    socket.off('drain', onDrain)
  }
}
