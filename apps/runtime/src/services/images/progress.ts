/** How a download from a registry proceeds: its bytes, its rate, and what it waits for. */
import { maxWaitingReason, type TopicData } from '@selvedge/protocol'
import { onOneLine, redactText } from '@selvedge/protocol/redaction'

type Pull = TopicData<'pulls'>[number]

export interface Progress {
  /** As clients see it now. */
  shown(): Pull
  announce(bytes: number): void
  /** Bytes that were on the disk; negative if they were wrong. */
  found(bytes: number): void
  /** Bytes that arrived. */
  received(bytes: number): void
  /** A request failed, and is repeated when so many milliseconds are over. @returns what to call then */
  waits(ms: number, cause: unknown): () => void
}

/** The rate is that of the last samples, which are a second apart or more. */
const sampling = { intervalMs: 1000, samples: 10 } as const

/** @param now monotonic milliseconds */
export function createProgress(source: string, now: () => number): Progress {
  let totalBytes: number | null = null
  let receivedBytes = 0
  let interruptions = 0
  const waits = new Set<{ readonly end: number; readonly reason: string }>()
  const rate = createRate(now)

  return {
    shown() {
      const [first] = [...waits].toSorted((one, other) => one.end - other.end)
      const bytesPerSecond = rate.perSecond()
      return {
        ...{ source, receivedBytes, totalBytes },
        ...(bytesPerSecond !== undefined && { bytesPerSecond }),
        ...(interruptions > 0 && { interruptions }),
        ...(first && {
          waiting: {
            seconds: Math.max(0, Math.ceil((first.end - now()) / 1000)),
            reason: first.reason,
          },
        }),
      }
    },
    announce(bytes) {
      totalBytes = bytes
    },
    found(bytes) {
      receivedBytes += bytes
    },
    received(bytes) {
      receivedBytes += bytes
      rate.add(bytes)
    },
    waits(ms, cause) {
      interruptions++
      const wait = { end: now() + ms, reason: reasonOf(cause) }
      waits.add(wait)
      return () => waits.delete(wait)
    },
  }
}

/** On one line and without secrets: a registry chooses a part of it. */
const reasonOf = (cause: unknown): string =>
  onOneLine(redactText(cause instanceof Error ? cause.message : String(cause))).slice(0, maxWaitingReason)

function createRate(now: () => number) {
  let arrived = 0
  const samples = [{ at: now(), arrived: 0 }]
  return {
    add(bytes: number): void {
      const at = now()
      if (at - samples.at(-1)!.at >= sampling.intervalMs) samples.push({ at, arrived })
      if (samples.length > sampling.samples) samples.shift()
      arrived += bytes
    },
    /** Undefined within the first second. */
    perSecond(): number | undefined {
      const [oldest] = samples
      const ms = now() - oldest!.at
      return ms < sampling.intervalMs ? undefined : Math.round(((arrived - oldest!.arrived) * 1000) / ms)
    },
  }
}
