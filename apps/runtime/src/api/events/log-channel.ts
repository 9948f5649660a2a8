/**
 * A channel of lines. It stores the newest ones for all its readers together: a reader that is too slow costs nothing more, and
 * learns how many lines it lost.
 */
import type { TopicName } from '@selvedge/protocol'
import type { Channel, SharedEvent } from './channel.ts'

/** Maximum lines, and characters of these lines as JSON, that are stored. */
const stored = { lines: 2000, characters: 512 * 1024 }
/** Characters of lines in one event; it may have one line more. */
const maxEventCharacters = 16 * 1024
/** Lines of the past for a new reader. */
const earlierLines = 100

export interface LineSource {
  last(count: number): readonly object[]
  /** @returns what to call when no more lines are needed */
  follow(onLine: (line: object) => void): () => void
}

/** @param onLine called after each line */
export function createLogChannel(topic: TopicName, source: LineSource, onLine: () => void): Channel {
  const lines: string[] = []
  let characters = 0
  /** Number of the newest line. */
  let newest = 0
  /** The event after a number: readers that keep up need the same one. */
  let made: { readonly after: number; readonly event: SharedEvent } | undefined

  function add(line: object): void {
    const text = JSON.stringify(line)
    lines.push(text)
    characters += text.length
    newest++
    while (lines.length > stored.lines || characters > stored.characters) characters -= lines.shift()!.length
  }

  function eventAfter(number: number): SharedEvent {
    if (made?.after === number) return made.event
    const begin = lines.length - (newest - number)
    let end = begin
    for (let size = 0; end < lines.length && size < maxEventCharacters; end++) size += lines[end]!.length
    const event = { topic, number: number + end - begin, data: `[${lines.slice(begin, end).join()}]` }
    // Without lines it is not the event after this number: lines may follow.
    if (end > begin) made = { after: number, event }
    return event
  }

  source.last(earlierLines).forEach(add)
  const stop = source.follow((line) => {
    add(line)
    onLine()
  })

  return {
    refresh: () => undefined,
    next(number) {
      const first = newest - lines.length
      // A new reader gets an event even if no line was written yet.
      if (number === undefined) return { event: eventAfter(Math.max(first, newest - earlierLines)), lost: 0 }
      if (number === newest) return undefined
      return { event: eventAfter(Math.max(first, number)), lost: Math.max(0, first - number) }
    },
    close: stop,
  }
}
