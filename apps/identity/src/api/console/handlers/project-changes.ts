/** Which settings of a project a person changed, for the audit log. */
import type { ConsoleProject } from '@selvedge/protocol/console'
import { describeOffline, type Offline } from '../../../registry/projects/offline.ts'
import { beforeAndAfter } from '../context.ts'

const names: Readonly<Partial<Record<keyof ConsoleProject, string>>> = {
  name: 'name',
  active: 'turned on',
  scopes: 'permissions',
  resources: 'backends',
  accessLifetime: 'access token lifetime in seconds',
  developerLifetime: 'developer token lifetime in seconds',
  dpop: 'binding to a key',
  offline: 'leases',
  appType: 'app',
  appUsers: 'people of the app',
  redirectUris: 'redirect URIs',
  postLogoutRedirectUris: 'URIs after sign-out',
  origins: 'origins',
  idTokenSignedResponseAlg: 'signature of ID tokens',
}

/** Characters of the text. */
const maxCharacters = 2000

type Settings = Partial<Record<keyof ConsoleProject, unknown>>

/** @returns each change as `<setting>: <before> → <after>`, separated by `; `; the name of the project if nothing changed */
export function describeChanges(before: Settings, after: Settings): string {
  const changed = Object.entries(names).flatMap(([key, name]) => {
    const [old, now] = [before, after].map((settings) =>
      textOf(inWords(key, settings[key as keyof Settings])),
    ) as [string, string]
    return old === now ? [] : [`${name}: ${beforeAndAfter(old, now)}`]
  })
  return changed.length > 0 ? changed.join('; ').slice(0, maxCharacters) : textOf(after.name)
}

const inWords = (key: string, value: unknown): unknown =>
  key === 'offline' && value !== undefined ? describeOffline(value as Offline) : value

/** Without what separates changes from each other. */
const textOf = (value: unknown): string =>
  (typeof value === 'string' ? value : value === undefined ? '' : (JSON.stringify(value) ?? ''))
    .replaceAll(';', ',')
    .replaceAll('→', '->')
