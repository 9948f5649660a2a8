/** The sign-ins of this user, one file an identity service. The tokens in a file go to that service and to no other. */
import { hash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { damagedFile, readConfigFile, writeConfigFile } from '../context/config-file.ts'
import { removePrivateFile } from '../context/config-folder.ts'
import { readServiceUrl } from '../context/service-url.ts'
import { UsageError } from '../failure.ts'

export interface Login {
  /** The service that issued the tokens. */
  readonly identityUrl: string
  readonly clientId: string
  readonly scope: string
  readonly refreshToken: string
  /** The developer ID token of the last refresh, and when it expires (Unix seconds). */
  readonly idToken: string
  readonly idTokenEndsAt: number
}

export interface SignIns {
  /** The sign-in at one service. @throws UsageError when its file is damaged, of a later format, or others can read it */
  read(identityUrl: string): Login | undefined
  /** Identity services that this user is signed in at, and what is wrong with files that cannot be read: the others count. */
  list(): { readonly urls: readonly string[]; readonly problems: readonly UsageError[] }
  /** Replaces the sign-in at its service. It is on the disk when this returns: a refresh token works once. */
  write(login: Login): void
  remove(identityUrl: string): void
}

/** @param folder the user's configuration folder */
export function createSignIns(folder: string): SignIns {
  const own = join(folder, 'sign-ins')
  const pathOf = (identityUrl: string) => join(own, `${hash('sha256', identityUrl).slice(0, 32)}.json`)
  const readFrom = (path: string): Login | undefined => {
    const content = readConfigFile(path, remedy)
    return content === undefined ? undefined : check(content, path)
  }
  return {
    read(identityUrl) {
      const path = pathOf(identityUrl)
      const login = readFrom(path)
      if (login && login.identityUrl !== identityUrl) throw damagedFile(path, remedy)
      return login
    },
    list() {
      const urls: string[] = []
      const problems: UsageError[] = []
      for (const name of namesIn(own)) {
        try {
          const login = readFrom(join(own, name))
          if (login) urls.push(login.identityUrl)
        } catch (cause) {
          if (!(cause instanceof UsageError)) throw cause
          problems.push(cause)
        }
      }
      return { urls, problems }
    },
    write: (login) => writeConfigFile(pathOf(login.identityUrl), login),
    remove: (identityUrl) => removePrivateFile(pathOf(identityUrl)),
  }
}

const remedy = 'Remove it and sign in again: selvedge login'

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^[0-9a-f]{32}\.json$/.test(name))
  } catch {
    return []
  }
}

/** @throws UsageError if it is no sign-in */
function check(content: unknown, path: string): Login {
  const { identityUrl, clientId, scope, refreshToken, idToken, idTokenEndsAt } = Object(content) as Partial<
    Record<string, unknown>
  >
  const texts = [identityUrl, clientId, scope, refreshToken, idToken]
  if (!texts.every((each) => typeof each === 'string') || typeof idTokenEndsAt !== 'number')
    throw damagedFile(path, remedy)
  readServiceUrl(identityUrl as string, `"identityUrl" in ${path}`)
  return { identityUrl, clientId, scope, refreshToken, idToken, idTokenEndsAt } as Login
}
