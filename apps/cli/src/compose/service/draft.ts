/** A service while its keys are read, and the tables that declare its keys. */
import type { AppService } from '@selvedge/protocol'
import { closest } from '../../closest.ts'
import { type At, type Member, membersOf, problem } from '../at.ts'
import type { FolderFiles } from '../folder-files.ts'
import { composeLimits } from '../limits.ts'
import type { Report } from '../report.ts'

/** A port of the container, with the port of the device that leads to it. */
export interface DraftPort {
  readonly at: At
  /** Of the device; undefined: any. */
  readonly published: number | undefined
  readonly target: number
  readonly protocol: 'tcp' | 'udp'
  /** Whether the file names HTTP as its protocol. */
  readonly isHttp: boolean
  /** Whether the file has it on the loopback interface alone. */
  readonly isLocal: boolean
}

export interface Draft {
  readonly name: string
  readonly at: At
  image: { readonly text: string; readonly at: At } | undefined
  pull: AppService['pull']
  platform: string | null
  hostname: string | null
  /** Undefined if the file has no such key. */
  restart: AppService['restart'] | undefined
  maxRestarts: number | null
  needsInit: boolean
  entrypoint: { readonly words: readonly string[]; readonly at: At } | undefined
  command: { readonly words: readonly string[]; readonly at: At } | undefined
  addCapabilities: readonly string[]
  dropCapabilities: readonly string[]
  /** Settings, such as `MCM.USER`, with the value that each came from. */
  readonly settings: Map<string, { readonly value: string; readonly at: At }>
  /** The service's own variables. */
  readonly variables: Map<string, string>
  /** Those of `env_file`, which `environment` replaces. */
  readonly fileVariables: Map<string, string>
  readonly dependsOn: (AppService['dependsOn'][number] & { readonly at: At })[]
  networkMode: { readonly mode: 'host' | 'none'; readonly at: At } | undefined
  networks: { readonly network: string; readonly aliases: readonly string[]; readonly at: At }[] | undefined
  readonly aliases: string[]
  readonly volumes: AppService['volumes'][number][]
  readonly mounts: { readonly text: string; readonly at: At }[]
  readonly tmpfs: { readonly text: string; readonly at: At }[]
  readonly secrets: AppService['secrets'][number][]
  readonly configs: AppService['configs'][number][]
  /** Folders that have nothing but files of the app. */
  readonly configFolders: { readonly target: string; readonly at: At }[]
  /** Where volumes, secrets and configs were read, each in its order. */
  readonly places: Readonly<Record<'volumes' | 'secrets' | 'configs', At[]>>
  readonly ports: DraftPort[]
  readonly exposed: number[]
  gateway: { readonly path: string | undefined; readonly at: At } | undefined
  gatewayPort: { readonly port: number; readonly at: At } | undefined
}

/** What the services of one file share. */
export interface Scope {
  readonly files: FolderFiles
  readonly variable: (name: string) => string | undefined
  /** Members of the file itself. */
  readonly has: Readonly<Record<'networks' | 'volumes' | 'secrets' | 'configs', ReadonlySet<string>>>
  /** Adds a file beside the Compose file to the configs of the app. @returns its name, and whether it may be executed; undefined after a problem */
  readonly addFile: (
    at: At,
    path: string,
  ) => { readonly name: string; readonly isProgram: boolean } | undefined
}

export const createDraft = (name: string, at: At): Draft => ({
  name,
  at,
  image: undefined,
  pull: 'missing',
  platform: null,
  hostname: null,
  restart: undefined,
  maxRestarts: null,
  needsInit: false,
  entrypoint: undefined,
  command: undefined,
  addCapabilities: [],
  dropCapabilities: [],
  settings: new Map(),
  variables: new Map(),
  fileVariables: new Map(),
  dependsOn: [],
  networkMode: undefined,
  networks: undefined,
  aliases: [],
  volumes: [],
  mounts: [],
  tmpfs: [],
  secrets: [],
  configs: [],
  configFolders: [],
  places: { volumes: [], secrets: [], configs: [] },
  ports: [],
  exposed: [],
  gateway: undefined,
  gatewayPort: undefined,
})

/** A key that the plan has. */
interface UsedKey {
  readonly use: 'used'
  /** What it becomes, for the documentation. */
  readonly becomes: string
  readonly read: (draft: Draft, at: Member, scope: Scope) => void
}

/** A key that changes nothing here, or that is refused. */
interface OtherKey {
  readonly use: 'ignored' | 'refused'
  /** Why, and for a refused one what to do. */
  readonly why: string
}

export type Key = UsedKey | OtherKey
export type Keys = Readonly<Record<string, Key>>

export const used = (becomes: string, read: UsedKey['read']): UsedKey => ({ use: 'used', becomes, read })
export const ignored = (why: string): OtherKey => ({ use: 'ignored', why })
export const refused = (why: string): OtherKey => ({ use: 'refused', why })

/** Reads the members of a mapping by a table. `x-` keys are extensions of others. */
export function readKeys(draft: Draft, at: At, keys: Keys, scope: Scope): void {
  for (const member of membersOf(at)) {
    if (member.name.startsWith('x-')) continue
    const key = Object.hasOwn(keys, member.name) ? keys[member.name]! : undefined
    const { report, path } = member
    if (!key) report.problem(member.key, path, unknownKey(member.name, keys, report))
    else if (key.use === 'used') key.read(draft, member, scope)
    else if (key.use === 'refused') report.problem(member.key, path, key.why)
    else report.note(member.key, path, key.why)
  }
}

/** @returns the message for a key that a table does not have, with the one that was probably meant */
export function unknownKey(name: string, keys: Readonly<Record<string, unknown>>, report: Report): string {
  // Not searched for a message that is only counted.
  const isShown = report.problems.length < composeLimits.problems
  const meant = isShown ? closest(name, Object.keys(keys)) : undefined
  return meant === undefined
    ? 'Compose has no such key here. Remove it, or begin its name with "x-".'
    : `Compose has no such key here. Did you mean "${meant}"?`
}

/** Notes a setting; the same one from two keys is a problem. */
export function setSetting(draft: Draft, name: string, value: string, at: At): void {
  const before = draft.settings.get(name)
  if (before)
    problem(
      at,
      `It sets ${name}, as ${before.at.path} (line ${before.at.tree.place.line}) does. Remove one of them.`,
    )
  else draft.settings.set(name, { value, at })
}
