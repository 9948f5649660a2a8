/** Pulls an image over a bad network, and measures what that cost. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Condition } from './conditions.ts'
import type { Puller } from './pullers.ts'
import { type FaultyRegistry, startFaultyRegistry } from './registry.ts'

export interface Outcome {
  /** Undefined if the image arrived. */
  readonly error: string | undefined
  readonly seconds: number
  /** Bytes of layers that the registry sent, as a multiple of those of the image. */
  readonly times: number
}

/** Milliseconds until a pull counts as one that never ends. */
const longestMs = 180_000
/** The error of such a pull. */
export const isLate = `still waits after ${longestMs / 60_000} minutes`
let pulls = 0

export async function pullOver(puller: Puller, condition: Condition): Promise<Outcome> {
  const registry = await startFaultyRegistry({ ...condition, name: `app${++pulls}` })
  const begin = performance.now()
  const after = (error: string | undefined) => ({ error, seconds: (performance.now() - begin) / 1000 })
  const late = new AbortController()
  try {
    let pull = puller.begin(registry.reference)
    let ending = pull.complete.then(after)
    const { kills = 0, downSeconds } = condition
    for (let kill = 1; kill <= kills; kill++) {
      await Promise.race([untilPart(registry, kill / (kills + 1)), ending])
      pull = await pull.kill()
      ending = pull.complete.then(after)
    }
    if (downSeconds !== undefined) {
      await Promise.race([untilPart(registry, 1 / 2), ending])
      await beDown(registry, downSeconds)
    }
    const tooLate = sleep(longestMs, isLate, { signal: late.signal }).then(after)
    tooLate.catch(() => undefined)
    const outcome = await Promise.race([ending, tooLate])
    if (outcome.error === isLate) await pull.stop()
    return { ...outcome, times: registry.sentBytes() / registry.imageBytes }
  } finally {
    late.abort()
    registry.stop()
    await puller.clear()
  }
}

async function untilPart({ sentBytes, imageBytes }: FaultyRegistry, part: number): Promise<void> {
  while (sentBytes() < imageBytes * part) await sleep(5)
}

async function beDown(registry: FaultyRegistry, seconds: number): Promise<void> {
  const goUp = await registry.goDown()
  await sleep(seconds * 1000)
  await goUp()
}
