/** The sign-ins of this user, one file an identity service. The tokens in a file go to that service and to no other. */
import { hash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readPrivateFile, removePrivateFile, writePrivateFile } from '../context/config-folder.ts'
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
  /** The sign-in at one service. @throws UsageError when its file is damaged or others can read it */
  read(identityUrl: string): Login | undefined
  /** Identity services that this user is signed in at. */
  list(): string[]
  /** Replaces the sign-in at its service. It is on the disk when this returns: a refresh token works once. */
  write(login: Login): void
  remove(identityUrl: string): void
}

/** @param folder the user's configuration folder */
export function createSignIns(folder: string): SignIns {
  const own = join(folder, 'sign-ins')
  const pathOf = (identityUrl: string) => join(own, `${hash('sha256', identityUrl).slice(0, 32)}.json`)
  const readFrom = (path: string): Login | undefined => {
    const text = readPrivateFile(path)
    return text === undefined ? undefined : parse(text, path)
  }
  return {
    read(identityUrl) {
      const path = pathOf(identityUrl)
      const login = readFrom(path)
      if (login && login.identityUrl !== identityUrl) throw damaged(path)
      return login
    },
    list() {
      let names: string[]
      try {
        names = readdirSync(own).filter((name) => /^[0-9a-f]{32}\.json$/.test(name))
      } catch {
        return []
      }
      return names.flatMap((name) => readFrom(join(own, name))?.identityUrl ?? [])
    },
    write: (login) => writePrivateFile(pathOf(login.identityUrl), `${JSON.stringify(login)}\n`),
    remove: (identityUrl) => removePrivateFile(pathOf(identityUrl)),
  }
}

const damaged = (path: string) =>
  new UsageError(`${path} is damaged`, 'Remove it and sign in again: selvedge login')

function parse(text: string, path: string): Login {
  let json: Partial<Record<string, unknown>>
  try {
    json = Object(JSON.parse(text))
  } catch {
    throw damaged(path)
  }
  const { identityUrl, clientId, scope, refreshToken, idToken, idTokenEndsAt } = json
  const texts = [identityUrl, clientId, scope, refreshToken, idToken]
  if (!texts.every((each) => typeof each === 'string') || typeof idTokenEndsAt !== 'number')
    throw damaged(path)
  readServiceUrl(identityUrl as string, `"identityUrl" in ${path}`)
  return json as unknown as Login
}
