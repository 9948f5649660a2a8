/** The sign-in of this machine's user, in a file of the state folder that nobody else may read. */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../failure.ts'

export interface Login {
  readonly identityUrl: string
  readonly clientId: string
  readonly scope: string
  readonly refreshToken: string
  /** The developer ID token of the last refresh, and when it ends (Unix seconds). */
  readonly idToken: string
  readonly idTokenEndsAt: number
}

export interface LoginFile {
  read(): Login | undefined
  /** Whole or not at all: a refresh token is good once, and the next one must not get lost. */
  write(login: Login): void
  remove(): void
}

export function createLoginFile(state: string): LoginFile {
  const path = join(state, 'login.json')
  return {
    read() {
      let text: string
      try {
        text = readFileSync(path, 'utf8')
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw new UsageError(
          `can't read ${path}: ${(cause as Error).message}`,
          'Run as the user who signed in.',
        )
      }
      try {
        return JSON.parse(text)
      } catch {
        throw new UsageError(`${path} is damaged`, 'Sign in again: selvedge login')
      }
    },
    write(login) {
      mkdirSync(state, { recursive: true, mode: 0o750 })
      const fresh = `${path}.${process.pid}`
      writeFileSync(fresh, `${JSON.stringify(login)}\n`, { mode: 0o600 })
      chmodSync(fresh, 0o600)
      renameSync(fresh, path)
    },
    remove: () => rmSync(path, { force: true }),
  }
}
