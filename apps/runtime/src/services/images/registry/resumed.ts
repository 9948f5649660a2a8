/**
 * Downloads a blob with as many requests as its connections need: after a cut, the next request is for the missing bytes only
 * (RFC 9110 § 14.2). It sends no `If-Range`: the digest identifies the content, and the caller verifies it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { RpcError } from '@selvedge/protocol'
import { lengthOf, pullMs } from '../limits.ts'
import { type Answer, type HttpGet, isAway, isPassing, unavailable } from './http-get.ts'
import { UnexpectedStatus } from './status.ts'

interface Blob {
  readonly digest: string
  /** Bytes, as the manifest announces them. */
  readonly size: number
}

/** What tests replace. */
export interface Waiting {
  /** Waits before a request that failed is repeated. @param cause the failure */
  wait(ms: number, cause: unknown): Promise<unknown>
  /** From 0 to 1. */
  random(): number
  /** Monotonic milliseconds. */
  now(): number
}

const limits = {
  /** Requests since the last progress that were answered with something else than the rest of the blob. */
  wrongAnswers: 15,
  /** Answers since the last progress that were cut, while there is another source. */
  cutsOfOne: 15,
  progressBytes: 64 * 1024,
  /** Answers that send the blob from its first byte again. */
  restarts: 5,
  firstDelayMs: 1000,
  maxDelayMs: 60_000,
  /** Between two attempts to reach a registry that is away: each costs it nothing, and it is back within this time at most. */
  maxAwayDelayMs: 4000,
} as const

export const real: Waiting = {
  wait: (ms) => sleep(ms, undefined, { ref: false }),
  random: () => Math.random(),
  now: () => performance.now(),
}

/**
 * Calls while a pull has time; one pull has one of them for all its blobs.
 *
 * @param afterMs milliseconds of a wait that is about to begin
 * @param cause why it waits
 * @throws RpcError `registry_unavailable` if the time is over, or will be after the wait
 */
export type TimeLeft = (url: string, afterMs?: number, cause?: unknown) => void

/** @param waiting of the pull, which begins now */
export function limitTime(waiting: Waiting = real, ms: number = pullMs): TimeLeft {
  const end = waiting.now() + ms
  return (url, afterMs = 0, cause = undefined) => {
    if (waiting.now() + afterMs <= end) return
    const answer = answerOf(cause)
    const asked = answer?.retryAfterMs ?? 0
    const why =
      asked > 0 && waiting.now() + asked > end
        ? `it accepts no request before ${Math.ceil(asked / 1000)} s are over, and the image has to arrive within ${lengthOf(ms)}; deploy the image after that`
        : `the image did not arrive within ${lengthOf(ms)}${cause === undefined ? '' : `; the last request failed: ${(cause as Error).message}`}`
    throw unavailable(url, why, answer ?? cause)
  }
}

/** What a blob may be downloaded with. */
export interface ResumeOptions {
  readonly waiting?: Waiting
  /** The first byte that is missing, less than the size of the blob. */
  readonly from?: number
  /** Whether the requests are sent to the last source: no other one can be tried in place of it. */
  readonly isLastSource?: () => boolean
}

/**
 * The bytes of a blob, each of them once and in order. They are not verified. Cuts and outages of the last source are followed by another
 * request while the pull has time; wrong answers are limited.
 *
 * @param expectTime refuses when the pull has no time left: a host may send a little with each connection, or a blob from its start again
 * @throws RpcError `registry_unavailable`, `not_found`, `digest_mismatch` if more bytes come than were announced
 */
export async function* resumed(
  get: HttpGet,
  url: string,
  blob: Blob,
  expectTime: TimeLeft,
  { waiting = real, from = 0, isLastSource = () => true }: ResumeOptions = {},
): AsyncGenerator<Uint8Array> {
  const state = { received: from, requests: 0, failures: 0, cuts: 0, wrong: 0, restarts: 0, hasRanges: true }
  for (;;) {
    const before = state.received
    try {
      state.requests++
      const asked = state.hasRanges ? before : 0
      const answer = await get(url, requestHeaders(asked))
      const skipped = before - firstByteOf(answer, asked, blob)
      if (skipped > 0) state.restarts++
      for await (const chunk of beyond(answer.body, skipped, () => expectTime(url))) {
        state.received += chunk.length
        if (state.received > blob.size) throw tooLong(blob)
        yield chunk
      }
      if (state.received === blob.size) return
      // Another range than the requested one, or a body without its end.
      throw new WrongAnswer('the answer was complete before the blob')
    } catch (cause) {
      // Its digest shows whether it is the blob.
      if (state.received === blob.size && !(cause instanceof RpcError)) return
      if (!mayContinue(cause)) throw cause
      if (cause instanceof WrongRange || answerOf(cause)?.status === 416) state.hasRanges = false
      const isProgress = state.received - before >= limits.progressBytes
      state.failures = isProgress ? 1 : state.failures + 1
      state.cuts = (isProgress ? 0 : state.cuts) + (isOfAway(cause) ? 0 : 1)
      state.wrong = (isProgress ? 0 : state.wrong) + (isOfLine(cause) ? 0 : 1)
      const isTooOften =
        state.wrong >= limits.wrongAnswers ||
        state.restarts >= limits.restarts ||
        (state.cuts >= limits.cutsOfOne && !isLastSource())
      if (isTooOften) throw givenUp(url, blob, state, cause)
      const delayMs = delayOf(cause, state.failures, waiting.random())
      expectTime(url, delayMs, cause)
      await waiting.wait(delayMs, cause)
    }
  }
}

/** An answer that is not the rest of the blob. */
class WrongAnswer extends Error {}

/** An answer that fits to no request that was sent. */
class WrongRange extends WrongAnswer {}

const requestHeaders = (from: number): Record<string, string> => ({
  'Accept-Encoding': 'identity',
  ...(from > 0 && { Range: `bytes=${from}-` }),
})

/** The position in the blob of the first byte of an answer: 0, or that of the request. An answer that does not fit is discarded. */
function firstByteOf(answer: Answer, asked: number, { digest, size }: Blob): number {
  const { status, headers, origin } = answer
  const refuse = (cause: Error): never => {
    answer.discard()
    throw cause
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    return refuse(
      unavailable(origin, `it sent ${digest} with the encoding ${JSON.stringify(encoding.slice(0, 50))}`),
    )
  const range = headers['content-range'] ?? ''
  if (
    status === 206 &&
    range !== `bytes ${asked}-${size - 1}/${size}` &&
    range !== `bytes ${asked}-${size - 1}/*`
  )
    return refuse(
      new WrongRange(
        `it sent the range ${JSON.stringify(range.slice(0, 100))} for ${asked}-${size - 1} of ${size}`,
      ),
    )
  const first = status === 206 ? asked : 0
  const length = headers['content-length']
  if (length !== undefined && Number(length) !== size - first)
    return refuse(
      new RpcError(
        'digest_mismatch',
        `${digest} should have ${size - first} bytes from byte ${first}, and ${length.slice(0, 50)} were announced`,
      ),
    )
  return first
}

/** The chunks of a body after its first bytes. @param check called with each chunk, also with those before */
async function* beyond(
  body: AsyncIterable<Uint8Array>,
  skipped: number,
  check: () => void,
): AsyncGenerator<Uint8Array> {
  let left = skipped
  for await (const chunk of body) {
    check()
    const rest = chunk.subarray(Math.min(left, chunk.length))
    left -= chunk.length - rest.length
    if (rest.length > 0) yield rest
  }
}

const tooLong = ({ digest, size }: Blob): RpcError =>
  new RpcError('digest_mismatch', `${digest} should have ${size} bytes, and more were sent`)

/** The answer that an error is about. */
export const answerOf = (cause: unknown): UnexpectedStatus | undefined =>
  cause instanceof RpcError && cause.cause instanceof UnexpectedStatus ? cause.cause : undefined

/** Whether an error means that the registry could not be reached. */
const isOfAway = (cause: unknown): boolean => cause instanceof RpcError && isAway(cause.cause)

/** Whether an error is a cut, an outage, or an answer of a host that is busy: no wrong answer. */
function isOfLine(cause: unknown): boolean {
  const answer = answerOf(cause)
  return answer ? answer.isBusy : !(cause instanceof WrongAnswer)
}

/** Whether another request may succeed. Errors of a body are no RpcError. */
function mayContinue(cause: unknown): boolean {
  if (!(cause instanceof RpcError)) return true
  const answer = answerOf(cause)
  if (answer) return answer.isPassing || answer.status === 416
  return isPassing(cause.cause)
}

/** Milliseconds until the next request: the `Retry-After` of the answer, and an exponential back-off with jitter. */
export function delayOf(cause: unknown, failures: number, random: number): number {
  const asked = answerOf(cause)?.retryAfterMs ?? 0
  const most = isOfAway(cause) ? limits.maxAwayDelayMs : limits.maxDelayMs
  const delay = Math.min(limits.firstDelayMs * 2 ** (failures - 1), most)
  return asked + delay * (0.5 + random / 2)
}

function givenUp(
  url: string,
  { digest, size }: Blob,
  { received, requests }: { readonly received: number; readonly requests: number },
  cause: unknown,
): RpcError {
  const why = `${received} of ${size} bytes of ${digest} arrived in ${requests} requests; the last one failed: ${(cause as Error).message}`
  return unavailable(url, why, cause)
}
