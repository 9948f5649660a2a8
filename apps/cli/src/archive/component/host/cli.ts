/** `wasi:cli`: the values of the container, standard output and error in its log, and no standard input. */
import { createLineSplitter, type LineRules } from '@selvedge/protocol/lines'
import { closed, Exit, type StreamError } from './failure.ts'
import { InputStream, maxBufferedBytes, OutputStream, type Sink } from './io.ts'
import type { Session } from './session.ts'

/** As the runtime writes lines of functions. */
const logLines: LineRules = { maxLine: 8192, longer: 'split', ends: 'lf' }

/** A stream that writes lines to the log; `end` writes the rest. */
function createLog(write: (line: string) => void): Sink & { finish(): void } {
  const decoder = new TextDecoder()
  const split = createLineSplitter(logLines)
  let end: StreamError | undefined
  const log = (lines: readonly string[]) => {
    for (const line of lines) write(line)
  }
  return {
    capacity: () => maxBufferedBytes,
    whenCapacity: () => Promise.resolve(),
    whenFlushed: () => Promise.resolve(),
    isFlushed: () => true,
    end: () => end,
    write: (bytes) => log(split(decoder.decode(bytes, { stream: true }))),
    finish() {
      if (end) return
      log(split(decoder.decode()))
      log(split.end())
      end = closed().payload
    },
  }
}

class TerminalInput {}
class TerminalOutput {}

export function createCli(session: Session, env: Readonly<Record<string, string>>) {
  const output = createLog((line) => console.log(line))
  const errors = createLog((line) => console.error(line))
  const exitWithCode = (code: number): never => {
    throw new Exit(code)
  }
  return {
    interfaces: {
      'wasi:cli/environment': {
        getEnvironment: () => Object.entries(env),
        getArguments: () => [] as string[],
        initialCwd: () => undefined,
      },
      'wasi:cli/exit': {
        exit: (status: { readonly tag: 'ok' | 'err' }) => exitWithCode(status.tag === 'ok' ? 0 : 1),
        exitWithCode,
      },
      'wasi:cli/stdin': { getStdin: () => new InputStream(session, null) },
      'wasi:cli/stdout': { getStdout: () => new OutputStream(session, output) },
      'wasi:cli/stderr': { getStderr: () => new OutputStream(session, errors) },
      'wasi:cli/terminal-input': { TerminalInput },
      'wasi:cli/terminal-output': { TerminalOutput },
      'wasi:cli/terminal-stdin': { getTerminalStdin: () => undefined },
      'wasi:cli/terminal-stdout': { getTerminalStdout: () => undefined },
      'wasi:cli/terminal-stderr': { getTerminalStderr: () => undefined },
    },
    finish() {
      output.finish()
      errors.finish()
    },
  }
}
