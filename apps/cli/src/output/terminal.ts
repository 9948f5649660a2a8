/**
 * The only way to standard output and standard error. Whatever is written here loses its control sequences: no command can
 * forget it.
 */
import { createInterface } from 'node:readline/promises'
import { onOneLine, withoutControls } from '@selvedge/protocol/redaction'
import { type Colour, paint } from './paint.ts'

export interface Terminal {
  /** Writes lines to standard output: the result. Files and pipes get no colour. */
  out(text: string, colour?: Colour): void
  /** Writes lines to standard error: everything else. */
  note(text: string, colour?: Colour): void
  /** Shows one line in place of the one before, on a terminal only; "" removes it. */
  redraw(line: string): void
  /** Whether a person watches standard error. */
  readonly isWatched: boolean
  /** Whether a person watches both standard output and standard error. */
  readonly isInteractive: boolean
  /** Asks a yes-or-no question; undefined without an interactive terminal. */
  ask(question: string): Promise<boolean | undefined>
}

/** Exit code of a program that SIGINT stopped, as shells count it. */
const interruptedCode = 130

/** As much of a process as a terminal needs. */
export type TerminalStreams = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>

export function createTerminal({ stdin, stdout, stderr }: TerminalStreams): Terminal {
  // `selvedge … | head` closes the pipe: the reader wants no more output, which is not an error.
  for (const stream of [stdout, stderr])
    stream.on('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EPIPE') process.exitCode = 1
      process.exit()
    })
  const isWatched = stderr.isTTY === true
  return {
    out: (text, colour) => void stdout.write(`${paint(stdout, withoutControls(text), colour)}\n`),
    note: (text, colour) => void stderr.write(`${paint(stderr, withoutControls(text), colour)}\n`),
    redraw(line) {
      if (!isWatched) return
      // A line that wraps could not be replaced.
      const shown = onOneLine(line).slice(0, (stderr.columns || 80) - 1)
      stderr.write(`\r${shown}\u001b[K`)
    },
    isWatched,
    isInteractive: isWatched && stdout.isTTY === true,
    async ask(question) {
      if (!isWatched || !stdin.isTTY) return undefined
      const lines = createInterface({ input: stdin, output: stderr })
      // Ctrl-C ends the program, as anywhere else; Ctrl-D is no answer, and so a no.
      lines.once('SIGINT', () => {
        stderr.write('\n')
        process.exit(interruptedCode)
      })
      const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('\n')))
      try {
        const answer = await Promise.race([
          lines.question(`${withoutControls(question)} [y/N] `).catch(() => ''),
          closed,
        ])
        if (answer === '\n') stderr.write(answer)
        return /^y(es)?$/i.test(answer.trim())
      } finally {
        lines.close()
      }
    },
  }
}
