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

export function createLastingAnswers(): LastingAnswers {
  const answers = new Set<LastingAnswer>()
  let checking: NodeJS.Timeout | undefined

  function end(answer: LastingAnswer, cause: unknown): void {
    if (!answers.delete(answer)) return
    const reason =
      cause instanceof RpcError ? cause : new RpcError('internal_error', 'the caller could not be checked')
    if (reason !== cause) reportFailure('lasting.check', cause)
    safely('lasting.end', answer.end)(reason)
  }

  const checkAll = safely('lasting.check', () => {
    for (const answer of answers) {
      try {
        answer.expectAllowed()
      } catch (cause) {
        end(answer, cause)
      }
    }
    if (answers.size > 0) return
    clearInterval(checking)
    checking = undefined
  })

  return {
    watch(answer) {
      answers.add(answer)
      checking ??= setInterval(checkAll, checkMs).unref()
      return () => void answers.delete(answer)
    },
    async verifyAll() {
      for (const answer of [...answers]) {
        await answer.verifyAgain().catch((cause) => end(answer, cause))
        // Each may cost a signature: others get their turn in between.
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}
