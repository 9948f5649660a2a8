import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root, type Stack } from './processes.ts'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly errors: string
}

export const cliPath = join(root, 'apps/cli/bin/selvedge.js')

/** The environment of the command line for a stack: its state folder, and a configuration folder that goes with it. */
export const cliEnvOf = (stack: Pick<Stack, 'state'>): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  SELVEDGE_STATE: stack.state,
  XDG_CONFIG_HOME: join(stack.state, 'config'),
})

/** The file of the only sign-in of a person. */
export function signInFile({ XDG_CONFIG_HOME = '' }: Record<string, string>): string {
  const folder = join(XDG_CONFIG_HOME, 'selvedge/sign-ins')
  const [name, ...more] = readdirSync(folder)
  if (name === undefined || more.length > 0)
    throw new Error(`${folder} holds ${more.length + 1} files, not one`)
  return join(folder, name)
}

/** Runs a command as a person would, without a terminal. */
export function runCli(args: readonly string[], env: Record<string, string>): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [cliPath, ...args], { env }, (_, out, errors) =>
      resolve({ code: child.exitCode ?? -1, out, errors }),
    )
    child.stdin?.end()
  })
}
