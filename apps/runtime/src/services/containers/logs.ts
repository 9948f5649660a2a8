/** What containers wrote, in memory: a log on flash wears it out, and an idle runtime writes nothing. */
import type { LogLine } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { safely } from '@selvedge/service-kit/safely'
import type { LogStream } from '../engines/engine.ts'

/** Maximum lines of one container, and maximum characters of these lines together. */
const kept = { lines: 2000, characters: 512 * 1024 }

export interface ContainerLog {
  add(stream: LogStream, text: string): void
  /** The last lines, oldest first. @param since only lines from this Unix millisecond on */
  tail(count: number, since?: number): LogLine[]
  /** Calls for every line from now on, until the returned function is called. */
  follow(onLine: (line: LogLine) => void): () => void
}

export function createContainerLog(clock: Clock): ContainerLog {
  const lines: { at: number; stream: LogStream; text: string }[] = []
  const followers = new Set<(line: LogLine) => void>()
  let characters = 0
  const show = ({ at, stream, text }: (typeof lines)[number]): LogLine => ({
    time: isoTime(at),
    stream,
    text,
  })

  return {
    add(stream, text) {
      const line = { at: clock.now(), stream, text }
      lines.push(line)
      characters += text.length
      while (lines.length > kept.lines || characters > kept.characters)
        characters -= lines.shift()!.text.length
      if (followers.size === 0) return
      const shown = show(line)
      for (const follow of followers) follow(shown)
    },
    tail: (count, since = 0) =>
      lines
        .filter(({ at }) => at >= since)
        .slice(-count)
        .map(show),
    follow(onLine) {
      // A follower that throws may not take the line from the others, nor end the container that wrote it.
      const follow = safely('logs.follow', onLine, () => followers.delete(follow))
      followers.add(follow)
      return () => followers.delete(follow)
    },
  }
}
