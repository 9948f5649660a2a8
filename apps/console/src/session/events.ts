/** Server-sent events over `fetch` (HTML Standard § 9.2): an `EventSource` cannot send a proof. */
import { signedOut } from '../api.ts'
import { signedFetch } from './request.ts'

export interface EventHandlers {
  /** The connection is up. */
  readonly opened: () => void
  /** The connection is down; it is tried again. */
  readonly lost: () => void
  readonly received: (data: string) => void
}

/** Milliseconds before the next try, the longest of them, and without a byte until the connection counts as dead. */
const retry = { first: 1000, longest: 30_000, silent: 45_000 }

/** Follows a stream of events. @returns a function that stops it */
export function followEvents(path: string, handlers: EventHandlers): () => void {
  const ended = new AbortController()
  void followUntil(ended.signal, path, handlers)
  return () => ended.abort()
}

async function followUntil(ended: AbortSignal, path: string, handlers: EventHandlers): Promise<void> {
  for (let waitMs: number = retry.first; !ended.aborted; waitMs = Math.min(waitMs * 2, retry.longest)) {
    const isOpened = await readOnce(ended, path, handlers).catch(() => false)
    if (ended.aborted) return
    handlers.lost()
    if (isOpened) waitMs = retry.first
    // Not all at once, after a service was restarted.
    await new Promise((resolve) => setTimeout(resolve, waitMs * (0.5 + Math.random() / 2)))
  }
}

/** Reads one connection to its end. @returns whether the service answered with events */
async function readOnce(ended: AbortSignal, path: string, handlers: EventHandlers): Promise<boolean> {
  const dead = new AbortController()
  let silence = setTimeout(() => dead.abort(), retry.silent)
  try {
    const response = await signedFetch(path, {
      headers: { Accept: 'text/event-stream' },
      signal: AbortSignal.any([ended, dead.signal]),
    })
    if (response.status === 401) dispatchEvent(new Event(signedOut))
    if (!response.ok || !response.body) return false
    handlers.opened()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let text = ''; ; ) {
      const { done, value } = await reader.read().catch(() => ({ done: true as const, value: undefined }))
      if (done) return true
      clearTimeout(silence)
      silence = setTimeout(() => dead.abort(), retry.silent)
      const events = (text + value).split('\n\n')
      text = events.pop()!
      for (const event of events) if (event.startsWith('data: ')) handlers.received(event.slice(6))
    }
  } finally {
    clearTimeout(silence)
  }
}
