import { spawn } from 'node:child_process'
import type { Ran } from './cli.ts'

export interface RunOptions {
  /** Added to PATH, which is all that is passed on. */
  readonly env?: Record<string, string>
  /** Ends the program after its first words on standard error: it would go on for ever. */
  readonly untilNoted?: boolean
}

/** Runs a program in a folder, without a terminal, for 15 seconds at most. */
export function runIn(
  cwd: string,
  [program = '', ...args]: readonly string[],
  { env = {}, untilNoted = false }: RunOptions = {},
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
    if (untilNoted) child.kill('SIGTERM')
  })
  const limit = setTimeout(() => child.kill('SIGKILL'), 15_000)
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(limit)
      resolve({ ...ran, code: code ?? -1 })
    })
  })
}
