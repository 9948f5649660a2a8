/** The last lines that an instance wrote: they often say why it stopped. */
import type { Plan } from './engine.ts'

/** Lines of each stream in a reason, and their characters together. */
const maxLines = 5
const maxCharacters = 500
/** Between lines in a reason. */
export const separator = ' | '

export interface LastOutput {
  /** Passes a line on to the log of the container. */
  readonly log: Plan['log']
  /** The last lines of standard error that are neither empty nor calls of a stack trace, oldest first. */
  errors(): readonly string[]
  /** @returns the reason, and after it the last lines of standard error and of standard output, if there are any */
  explain(reason: string): string
}

/** @param hide removes secrets from a line of the program */
export function createLastOutput(log: Plan['log'], hide: Plan['hideSecrets']): LastOutput {
  const stdout = createLastLines()
  const stderr = createLastLines()
  return {
    log(stream, line) {
      const text = stream === 'runtime' ? line : (hide?.(stream, line) ?? line)
      log(stream, text)
      if (stream === 'stdout') stdout.add(text)
      if (stream === 'stderr') stderr.add(text)
    },
    errors: stderr.all,
    explain(reason) {
      const lines = [...newest(stderr.all()), ...newest(stdout.all())]
      return lines.length > 0 ? `${reason}: ${lines.join(separator)}` : reason
    },
  }
}

function createLastLines() {
  const last: string[] = []
  return {
    all: (): readonly string[] => last,
    add(text: string) {
      if (!explains(text)) return
      last.push(text)
      if (last.length > maxLines) last.shift()
    },
  }
}

/** An empty line and a call of a stack trace explain nothing. */
const explains = (text: string): boolean => !/^\s*$|^\s+at\s/.test(text)

/** The last of the lines that fit into a reason together: the last one always, if needed without its end. */
export function newest(all: readonly string[]): readonly string[] {
  const lines = all.filter(explains).slice(-maxLines)
  const fits = (at: number) => lines.slice(at).join(separator).length <= maxCharacters
  const fitting = lines.filter((_, at) => fits(at))
  return fitting.length > 0 ? fitting : lines.slice(-1).map((line) => line.slice(0, maxCharacters))
}
