/** Requests of a pull only while the link may be used: others wait, and an answer that is under way is cut. */
import type { HttpGet } from './http-get.ts'
import type { TimeLeft } from './resumed.ts'

interface Refusal {
  readonly kind: string
  /** A sentence for people. */
  readonly reason: string
  /** Unix milliseconds when it ends by the clock. */
  readonly until: number | undefined
}

/** Whether images may be downloaded now. */
export interface Allowance {
  /** Undefined: they may. */
  refusal(): Refusal | undefined
  /** Resolves when that may have changed. */
  changed(): Promise<void>
}

interface Options {
  /** Undefined: the pull does not wait. */
  readonly allowance: Allowance | undefined
  readonly expectTime: TimeLeft
  /** Unix milliseconds. */
  readonly now: () => number
  /** Called when a wait begins. @param ms until it is over, as far as that is known @returns what to call then */
  readonly onWait?: ((ms: number, cause: unknown) => () => void) | undefined
}

/** Milliseconds of a wait that no clock ends, as they are shown. */
const unknownMs = 60_000

export function whileAllowed(get: HttpGet, options: Options): HttpGet {
  const { allowance } = options
  if (!allowance) return get
  return async (url, headers, form) => {
    await untilAllowed(url, allowance, options)
    const answer = await get(url, headers, form)
    return { ...answer, body: cut(answer.body, allowance) }
  }
}

/** @throws RpcError when the pull has no time left */
async function untilAllowed(url: string, allowance: Allowance, options: Options): Promise<void> {
  const { expectTime, now, onWait } = options
  for (let first = allowance.refusal(); first; first = allowance.refusal()) {
    const ms = first.until === undefined ? unknownMs : Math.max(0, first.until - now())
    const over = onWait?.(ms, new Error(first.reason))
    try {
      for (let next: Refusal | undefined = first; next?.kind === first.kind; ) {
        await allowance.changed()
        expectTime(url)
        next = allowance.refusal()
      }
    } finally {
      over?.()
    }
  }
}

/** What arrived stays: the next request is for the rest, and waits. */
async function* cut(body: AsyncIterable<Uint8Array>, allowance: Allowance): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    yield chunk
    const refusal = allowance.refusal()
    if (refusal) throw new Error(refusal.reason)
  }
}
