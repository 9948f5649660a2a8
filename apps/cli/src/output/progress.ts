import type { TopicData } from '@selvedge/protocol'
import { onOneLine } from '@selvedge/protocol/redaction'
import type { Terminal } from './terminal.ts'

type Pull = TopicData<'pulls'>[number]

/** A bar on standard error where a person watches, nothing where a program does. */
const width = 30
const intervalMs = 100
/** Waits of which a program gets a line. */
const minNotedSeconds = 2

export const sizeOf = (bytes: number): string =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`

/** A bar with the share of a total in bytes. */
export function progressBar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const bar = '█'.repeat(Math.round(share * width)).padEnd(width, '░')
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} % of ${sizeOf(total)}`
}

/** How a download of the runtime proceeds, beside its bytes: its rate, its cuts, and what it waits for. */
export function paceOf({ bytesPerSecond, interruptions = 0, waiting }: Pull): string {
  const cuts = `${interruptions} interruption${interruptions === 1 ? '' : 's'}`
  return [
    ...(bytesPerSecond === undefined || waiting ? [] : [`${sizeOf(bytesPerSecond)}/s`]),
    ...(interruptions === 0 ? [] : [cuts]),
    ...(waiting ? [`tries again in ${waiting.seconds} s: ${waiting.reason}`] : []),
  ].join(', ')
}

export interface Progress {
  /** Shows bytes of a total; calls within a tenth of a second are left out. */
  show(done: number, total: number): void
  /** Shows why nothing is sent for a time, and what it waits for; to a program only if the runtime did not answer at once. */
  wait(cause: Error, seconds: number): void
  end(): void
}

export function createProgress(terminal: Terminal, label: string): Progress {
  let last = Number.NEGATIVE_INFINITY
  return {
    show(done, total) {
      const now = performance.now()
      if (!terminal.isWatched || (now - last < intervalMs && done < total)) return
      last = now
      terminal.redraw(`${label} ${progressBar(done, total)}`)
    },
    wait({ message }, seconds) {
      const text = `${label} waits for the runtime and tries again in ${seconds} s: ${message}`
      if (terminal.isWatched) terminal.redraw(text)
      else if (seconds >= minNotedSeconds) terminal.note(onOneLine(text))
    },
    end: () => terminal.redraw(''),
  }
}
