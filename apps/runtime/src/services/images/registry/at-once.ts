/** Several downloads of one pull at once. */
import { safely } from '@selvedge/service-kit/safely'
import { createWorkCounts } from '@selvedge/service-kit/work'
import type { Answer, HttpGet } from './http-get.ts'
import type { TimeLeft, Waiting } from './resumed.ts'

/** Downloads at once: of one pull, and of all pulls beyond the first one of each. Each holds a connection and a chunk of 64 KiB at most. */
const maxAtOnce = { ofPull: 3, more: 16 } as const

/** Places for downloads beyond the first one of each pull: no pull waits for another one. */
export interface Places {
  /** Does work if there is a place for it; undefined if all are in use. */
  run(work: () => Promise<void>): Promise<void> | undefined
}

export function createPlaces(max: number = maxAtOnce.more): Places {
  const works = createWorkCounts()
  return { run: (work) => (works.underWay < max ? works.during('layers', work) : undefined) }
}

/** Work that stops as a whole when a part of it fails. */
export interface Together {
  /** The same requests, until a part fails: then what is read of them ends, too. */
  readonly get: HttpGet
  readonly expectTime: TimeLeft
  readonly waiting: Waiting
  /** Works on all items, at most `maxAtOnce.ofPull` at once. @throws the first failure, when no part works any more */
  forEach<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>, places: Places): Promise<void>
}

/** @param signal stops it: its reason is the failure */
export function createTogether(
  get: HttpGet,
  expectTime: TimeLeft,
  waiting: Waiting,
  signal?: AbortSignal,
): Together {
  const stopped = Promise.withResolvers<never>()
  stopped.promise.catch(() => undefined)
  let failure: { readonly cause: unknown } | undefined
  const answers = new Set<Answer>()

  function stop(cause: unknown): void {
    failure ??= { cause }
    stopped.reject(cause)
    for (const each of answers) each.discard()
  }
  const giveUp = safely('images.unwanted', () => stop(signal?.reason))
  signal?.addEventListener('abort', giveUp, { once: true })
  const expectGoing = () => {
    if (failure) throw failure.cause
  }

  return {
    async get(...asked) {
      expectGoing()
      const coming = get(...asked).then((answer) => {
        if (failure) answer.discard()
        return answer
      })
      const answer = await Promise.race([coming, stopped.promise])
      answers.add(answer)
      return { ...answer, body: untilRead(answer, () => answers.delete(answer)) }
    },
    expectTime(...asked) {
      expectGoing()
      expectTime(...asked)
    },
    waiting: { ...waiting, wait: (...asked) => Promise.race([waiting.wait(...asked), stopped.promise]) },
    async forEach(items, work, places) {
      const queue = items[Symbol.iterator]()
      const run = async () => {
        for (let next = queue.next(); !next.done && !failure; next = queue.next())
          await work(next.value).catch(stop)
      }
      const more = Array.from({ length: maxAtOnce.ofPull - 1 }, () => places.run(run))
      await Promise.all([run(), ...more])
      expectGoing()
    },
  }
}

/** The body of an answer. @param onEnd called when it is read or left */
async function* untilRead({ body }: Answer, onEnd: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } finally {
    onEnd()
  }
}
