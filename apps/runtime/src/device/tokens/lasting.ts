/**
 * Answers that last: streams, WebSockets, logs that are followed. Their callers were checked when they began. They are checked again
 * every second, without cryptography, and verified again when the keys of an issuer change; what may not go on ends with the reason.
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
  /** @returns what to call after the answer */
  watch(answer: LastingAnswer): () => void
  /** To be called when an issuer has other keys: a token that one of the former keys signed may not be accepted any more. */
  verifyAll(): Promise<void>
}

/** An answer that is watched. */
interface Entry {
  readonly answer: LastingAnswer
  /** Where it is among those that are watched; -1 afterwards. */
  at: number
}

export function createLastingAnswers(): LastingAnswers {
  const watched: Entry[] = []
  let checking: NodeJS.Timeout | undefined

  /** Moves the last entry to its place. @returns whether it was watched until now */
  function remove(entry: Entry): boolean {
    const { at } = entry
    if (at < 0) return false
    entry.at = -1
    const last = watched.pop()!
    if (last !== entry) {
      watched[at] = last
      last.at = at
    }
    return true
  }

  function end(entry: Entry, cause: unknown): void {
    if (!remove(entry)) return
    const reason =
      cause instanceof RpcError ? cause : new RpcError('internal_error', 'the caller could not be checked')
    if (reason !== cause) reportFailure('lasting.check', cause)
    safely('lasting.end', entry.answer.end)(reason)
  }

  const checkAll = safely('lasting.check', () => {
    for (const entry of [...watched]) {
      try {
        entry.answer.expectAllowed()
      } catch (cause) {
        end(entry, cause)
      }
    }
    if (watched.length > 0) return
    clearInterval(checking)
    checking = undefined
  })

  return {
    watch(answer) {
      const entry: Entry = { answer, at: watched.length }
      watched.push(entry)
      checking ??= setInterval(checkAll, checkMs).unref()
      return () => {
        remove(entry)
      }
    },
    async verifyAll() {
      for (const entry of [...watched]) {
        await entry.answer.verifyAgain().catch((cause) => end(entry, cause))
        // Each may cost a signature: others get their turn in between.
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}
