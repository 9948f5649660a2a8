import type { EventEmitter } from 'node:events'
import { safely } from '../safely/safely.ts'
import type { EndWork } from './work-count.ts'

/** What closes once: a response, a socket, a stream. */
interface Closing extends Pick<EventEmitter, 'once'> {
  readonly closed: boolean
}

/** Ends work when a response, socket or stream closes: sent, reset or destroyed; at once if it has closed before. */
export function endWhenClosed(closing: Closing, end: EndWork): void {
  if (closing.closed) end()
  else closing.once('close', safely('work.closed', end))
}
