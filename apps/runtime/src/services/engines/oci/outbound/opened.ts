/** What names have opened in the packet filter of a container, for as long as the resolver has answered with it lately. */
import { maxOpened, type Opening, openingOf } from './rules.ts'

/** Seconds for which an address stays open after an answer: programs use an address longer than the answer is valid. */
const openSeconds = 3600
/** An address is opened again when less than this part of its time is left. */
const renewedPart = 1 / 2

export interface Opened {
  /** Resolves once all of them are open. @throws Error if the packet filter refuses, or too many are open */
  open(openings: readonly Opening[]): Promise<void>
}

/** @param apply applies a script of nftables @param now monotonic milliseconds */
export function createOpened(apply: (script: string) => Promise<void>, now: () => number): Opened {
  /** When each ends. */
  const ends = new Map<string, number>()
  /** One script after the other. */
  let last: Promise<unknown> = Promise.resolve()

  const keyOf = ({ address, port }: Opening): string => `${address}:${port}`
  const isFresh = (opening: Opening): boolean =>
    (ends.get(keyOf(opening)) ?? 0) - now() > openSeconds * 1000 * renewedPart

  async function openNow(openings: readonly Opening[]): Promise<void> {
    // Another answer may have opened them meanwhile.
    const wanted = openings.filter((each) => !isFresh(each))
    if (wanted.length === 0) return
    for (const [key, end] of ends) if (end <= now()) ends.delete(key)
    const added = wanted.filter((each) => !ends.has(keyOf(each)))
    if (ends.size + added.length > maxOpened) throw new Error(`${maxOpened} addresses are open already`)
    await apply(openingOf(wanted, openSeconds))
    for (const each of wanted) ends.set(keyOf(each), now() + openSeconds * 1000)
  }

  return {
    open(openings) {
      if (openings.every(isFresh)) return Promise.resolve()
      const mine = last.then(() => openNow(openings))
      last = mine.catch(() => undefined)
      return mine
    },
  }
}
