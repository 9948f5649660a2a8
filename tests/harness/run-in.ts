import { spawn } from 'node:child_process'
import type { Ran } from './cli.ts'

export interface RunOptions {
  /** Added to PATH, which is all that is passed on. */
  readonly env?: Record<string, string>
  /** Ends the program once standard error holds this text: it would go on for ever. */
  readonly untilShown?: string | undefined
}

/** Runs a program in a folder, without a terminal, for a minute at most. */
export function runIn(
  cwd: string,
  [program = '', ...args]: readonly string[],
  { env = {}, untilShown }: RunOptions = {},
): Promise<Ran> {
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ran = { code: -1, out: '', errors: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    ran.out += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    ran.errors += chunk
    if (untilShown !== undefined && ran.errors.includes(untilShown)) child.kill('SIGTERM')
  })
  const limit = setTimeout(() => child.kill('SIGKILL'), 60_000)
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(limit)
      resolve({ ...ran, code: code ?? -1 })
    })
  })
}
