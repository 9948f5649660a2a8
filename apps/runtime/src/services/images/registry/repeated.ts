/** Repeats requests for documents while a registry is busy, or the network fails. Layers have rules of their own: `resumed.ts`. */
import { RpcError } from '@selvedge/protocol'
import { isPassing, unavailable } from './http-get.ts'
import { answerOf, delayOf, real, type TimeLeft, type Waiting } from './resumed.ts'

/** Requests for one document: of a registry that names a time with `Retry-After`, and of others. */
const attempts = { named: 15, other: 5 } as const

/**
 * @param work requests and reads; calls `hasAnswered` when the registry has answered
 * @throws RpcError what the last attempt threw; `registry_unavailable` when the pull has no time left
 */
type Repeater = <T>(work: (hasAnswered: () => void) => Promise<T>) => Promise<T>

/**
 * For the documents of one pull. Errors of connections are final until the registry has answered once: a reference with a typo is
 * refused at once.
 */
export function createRepeater(url: string, expectTime: TimeLeft, waiting: Waiting = real): Repeater {
  let isKnown = false
  const hasAnswered = () => {
    isKnown = true
  }
  const readError = (cause: unknown): RpcError =>
    cause instanceof RpcError ? cause : unavailable(url, (cause as Error).message, cause)

  return async (work) => {
    for (let failures = 1; ; failures++) {
      try {
        return await work(hasAnswered)
      } catch (cause) {
        const failure = readError(cause)
        const answer = answerOf(failure)
        if (answer) isKnown = true
        const mayPass = answer ? answer.isPassing : isKnown && isPassing(failure.cause)
        const limit = answer?.retryAfterMs === undefined ? attempts.other : attempts.named
        if (!mayPass || failures >= limit) throw failure
        const delayMs = delayOf(url, failure, failures, waiting.random())
        expectTime(url, delayMs)
        await waiting.wait(delayMs, failure)
      }
    }
  }
}
