/**
 * Answers that last: streams, WebSockets, logs that are followed. Their callers were checked when they began. They are checked again
 * every second, without cryptography, and anew when the keys of an issuer change; what may not go on ends with the reason.
 */
import { RpcError } from '@selvedge/protocol'
import { reportFailure, safely } from '@selvedge/service-kit/safely'

/** Milliseconds between two checks. */
const checkMs = 1000

export interface LastingAnswer {
  /** Whether the caller may still have it, by what is in memory. @throws RpcError */
  readonly expectAllowed: () => void
  /** Checks the caller from the beginning, with the signature of the token. @throws RpcError */
  readonly verifyAgain: () => Promise<unknown>
  /** Called once, when it has to end. */
  readonly end: (cause: RpcError) => void
}

export interface LastingAnswers {
  /** @returns what to call when it ended by itself */
  watch(answer: LastingAnswer): () => void
  /** To be called when an issuer has other keys: a token that one of the former keys signed may not be accepted any more. */
  verifyAll(): Promise<void>
}

/**
 * A link of the list of answers, one for each request that is being answered. A Set of them doubled the time of garbage collection,
 * and cost a request of the gateway a third more.
 */
interface Link {
  readonly answer: LastingAnswer
  previous: Link | undefined
  next: Link | undefined
  isWatched: boolean
}

export function createLastingAnswers(): LastingAnswers {
  let first: Link | undefined
  let checking: NodeJS.Timeout | undefined

  /** @returns whether it was watched until now */
  function remove(link: Link): boolean {
    if (!link.isWatched) return false
    link.isWatched = false
    if (link.previous) link.previous.next = link.next
    else first = link.next
    if (link.next) link.next.previous = link.previous
    link.previous = undefined
    link.next = undefined
    return true
  }

  function all(): Link[] {
    const links: Link[] = []
    for (let link = first; link; link = link.next) links.push(link)
    return links
  }

  function end(link: Link, cause: unknown): void {
    if (!remove(link)) return
    const reason =
      cause instanceof RpcError ? cause : new RpcError('internal_error', 'the caller could not be checked')
    if (reason !== cause) reportFailure('lasting.check', cause)
    safely('lasting.end', link.answer.end)(reason)
  }

  const checkAll = safely('lasting.check', () => {
    for (const link of all()) {
      try {
        link.answer.expectAllowed()
      } catch (cause) {
        end(link, cause)
      }
    }
    if (first) return
    clearInterval(checking)
    checking = undefined
  })

  return {
    watch(answer) {
      const link: Link = { answer, previous: undefined, next: first, isWatched: true }
      if (first) first.previous = link
      first = link
      checking ??= setInterval(checkAll, checkMs).unref()
      return () => {
        remove(link)
      }
    },
    async verifyAll() {
      for (const link of all()) {
        await link.answer.verifyAgain().catch((cause) => end(link, cause))
        // Each may cost a signature: others get their turn in between.
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}
