/** Repeats requests for documents while a registry is busy, or the network fails. Layers have rules of their own: `resumed.ts`. */
import { RpcError } from '@selvedge/protocol'
import { isPassing, unavailable } from './http-get.ts'
import { answerOf, delayOf, real, type TimeLeft, type Waiting } from './resumed.ts'

/** Requests for the first document of a registry that names no time with `Retry-After`. */
const maxFirst = 5

/**
 * @param work requests and reads; calls `hasAnswered` when the registry has answered
 * @throws RpcError what the last attempt threw; `registry_unavailable` when the pull has no time left
 */
type Repeater = <T>(work: (hasAnswered: () => void) => Promise<T>) => Promise<T>

/**
 * For the documents of one pull. Errors of connections are final until the registry has answered once: a reference with a typo is
 * refused at once. After the first document, cuts and outages are followed by another request while the pull has time.
 *
 * @param isContinued whether the registry answered before: an earlier run of the runtime began the pull
 */
export function createRepeater(
  url: string,
  expectTime: TimeLeft,
  waiting: Waiting = real,
  isContinued = false,
): Repeater {
  let isKnown = isContinued
  let hasDocument = isContinued
  const hasAnswered = () => {
    isKnown = true
  }
  const readError = (cause: unknown): RpcError =>
    cause instanceof RpcError ? cause : unavailable(url, (cause as Error).message, cause)

  return async (work) => {
    for (let failures = 1; ; failures++) {
      try {
        const document = await work(hasAnswered)
        hasDocument = true
        return document
      } catch (cause) {
        const failure = readError(cause)
        const answer = answerOf(failure)
        if (answer) isKnown = true
        // Errors of a body are no RpcError.
        const isCut = isPassing(failure.cause) || failure !== cause
        const mayPass = answer ? answer.isPassing : isKnown && isCut
        const mayLast = (answer?.isBusy ?? true) && (hasDocument || answer?.retryAfterMs !== undefined)
        if (!mayPass || (!mayLast && failures >= maxFirst)) throw failure
        const delayMs = delayOf(failure, failures, waiting.random())
        expectTime(url, delayMs, failure)
        await waiting.wait(delayMs, failure)
      }
    }
  }
}
