import { spawn } from 'node:child_process'
import type { Ran } from './cli.ts'
import { stepLimitMs } from './limits.ts'

export interface RunOptions {
  /** Added to PATH, which is all that is passed on. */
  readonly env?: Record<string, string>
  /** Ends the program once standard error holds this text: it would go on for ever. */
  readonly untilShown?: string | undefined
}

/** For a test that runs every command of the CLI: each of them has its own limit, and need not be fast. */
export const everyCommand = { timeout: 900_000 } as const

/**
 * Runs a program in a folder, without a terminal.
 *
 * @throws Error if it does not end in time
 */
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
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => {
      child.kill('SIGKILL')
      reject(
        new Error(`${args.slice(1).join(' ')} did not end within ${stepLimitMs / 1000} s: ${ran.errors}`),
      )
    }, stepLimitMs)
    child.once('close', (code) => {
      clearTimeout(limit)
      resolve({ ...ran, code: code ?? -1 })
    })
  })
}
