import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { root, type Stack } from './processes.ts'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly errors: string
}

export const cliPath = join(root, 'apps/cli/bin/selvedge.js')

/** What the command line is told of a stack. */
export const cliEnvOf = (stack: Stack): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  SELVEDGE_STATE: stack.state,
  SELVEDGE_IDENTITY_URL: stack.identity.url,
  SELVEDGE_DISCOVERY_URL: stack.discovery.url,
})

/** Runs a command as a person would, without a terminal. */
export function runCli(args: readonly string[], env: Record<string, string>): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [cliPath, ...args], { env }, (_, out, errors) =>
      resolve({ code: child.exitCode ?? -1, out, errors }),
    )
    child.stdin?.end()
  })
}
