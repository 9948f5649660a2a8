/** Networks, volumes, secrets and configs of a Compose file. */

import { sep } from 'node:path'
import {
  type AppPlan,
  appPartPattern,
  appPlanLimits,
  configBytes,
  maxSecretBytes,
  secretNamePattern,
} from '@selvedge/protocol'
import { partKeys } from './app-keys.ts'
import { type At, flagOf, type Member, membersOf, problem, textOf } from './at.ts'
import { FileRefusal, type FolderFiles } from './folder-files.ts'
import { isLikelySecret } from './likely-secret.ts'
import { decode } from './parse-yaml.ts'
import { type Report, shown } from './report.ts'
import { type Scope, unknownKey } from './service/draft.ts'
import { memberOf, type Tree } from './tree.ts'

type Part = keyof typeof partKeys
type Secret = AppPlan['secrets'][number]
type Config = AppPlan['configs'][number]

export interface Parts {
  readonly networks: ReadonlyMap<string, AppPlan['networks'][number]>
  readonly volumes: ReadonlyMap<string, AppPlan['volumes'][number]>
  /** Undefined for a secret with a problem. */
  readonly secrets: ReadonlyMap<string, Secret | undefined>
  readonly configs: ReadonlyMap<string, AppPlan['configs'][number]>
  /** Adds a file of the folder as a config. @returns its name; undefined after a problem */
  readonly addFile: Scope['addFile']
}

export interface PartsContext {
  readonly files: FolderFiles
  readonly variable: (name: string) => string | undefined
  readonly report: Report
}

/** Members of one kind with valid names, and with keys that the table of the kind has. */
function partsOf(tree: Tree | undefined, part: Part, report: Report): Member[] {
  if (!tree) return []
  const members = membersOf({ tree, path: part, report })
  if (members.length > appPlanLimits[part])
    problem(
      { tree, path: part, report },
      `It has ${members.length} members. At most ${appPlanLimits[part]} are possible.`,
    )
  return members.slice(0, appPlanLimits[part]).filter((member) => {
    if (!appPartPattern.test(member.name)) {
      report.problem(
        member.key,
        member.path,
        `${shown(member.name)} is not possible as a name. Write up to 63 letters, digits and . _ -, beginning with a letter or digit.`,
      )
      return false
    }
    checkKeys(member, part)
    return true
  })
}

function checkKeys(member: Member, part: Part): void {
  const keys = partKeys[part]
  for (const { name, key: place, path, report, tree } of membersOf(member)) {
    if (name.startsWith('x-')) continue
    const key = Object.hasOwn(keys, name) ? keys[name]! : undefined
    if (!key) report.problem(place, path, unknownKey(name, keys, report))
    else if (key.use === 'refused' && !(tree.kind === 'scalar' && tree.text === 'false'))
      report.problem(place, path, key.why)
    else if (key.use === 'ignored') report.note(place, path, key.why)
  }
}

const memberIn = (at: At, name: string): At | undefined => {
  const tree = memberOf(at.tree, name)
  return tree && { tree, path: `${at.path}.${name}`, report: at.report }
}

function checkDriver(member: Member, expected: string): void {
  const driver = memberIn(member, 'driver')
  const text = driver && textOf(driver)
  if (driver && text !== undefined && text !== expected && text !== 'default')
    problem(driver, `The driver ${shown(text)} is not supported. Remove it, or write "${expected}".`)
}

export function readParts(root: Tree, { files, variable, report }: PartsContext): Parts {
  const networks = new Map<string, AppPlan['networks'][number]>()
  for (const member of partsOf(memberOf(root, 'networks'), 'networks', report)) {
    checkDriver(member, 'bridge')
    const internal = memberIn(member, 'internal')
    networks.set(member.name, {
      name: member.name,
      isInternal: internal ? (flagOf(internal) ?? false) : false,
    })
  }
  const volumes = new Map<string, AppPlan['volumes'][number]>()
  for (const member of partsOf(memberOf(root, 'volumes'), 'volumes', report)) {
    checkDriver(member, 'local')
    volumes.set(member.name, { name: member.name })
  }
  const secrets = new Map(
    partsOf(memberOf(root, 'secrets'), 'secrets', report).map((member) => [
      member.name,
      secretOf(member, files),
    ]),
  )
  const store = createConfigs(files)
  for (const member of partsOf(memberOf(root, 'configs'), 'configs', report)) {
    store.add(member, { name: member.name, ...contentOf(member, files, variable) })
  }
  return { networks, volumes, secrets, configs: store.configs, addFile: store.addFile }
}

/** Where the value of a secret comes from; the value itself is not in a plan. */
function secretOf(member: Member, files: FolderFiles): Secret | undefined {
  const { name } = member
  const [file, environment, external] = ['file', 'environment', 'external'].map((each) =>
    memberIn(member, each),
  )
  if (external && flagOf(external)) {
    const own = memberIn(member, 'name')
    const secret = own ? textOf(own) : name
    if (secret === undefined) return undefined
    if (!secretNamePattern.test(secret))
      return problem(member, `${shown(secret)} is not the name of a secret. Write letters, digits and . _ -`)
    return { name, from: 'project', secret }
  }
  if (environment) {
    const variable = textOf(environment)
    if (variable === undefined) return undefined
    return /^[A-Za-z_][A-Za-z0-9_]{0,255}$/.test(variable)
      ? { name, from: 'environment', variable }
      : problem(environment, `${shown(variable)} is not the name of a variable. Write letters, digits and _`)
  }
  const path = file && textOf(file)
  if (!file || path === undefined)
    return problem(member, 'Its value is missing. Add "file", "environment" or "external: true".')
  const read = readFile(file, path, files, maxSecretBytes)
  return read && { name, from: 'file', path: read.path }
}

function contentOf(
  member: Member,
  files: FolderFiles,
  variable: PartsContext['variable'],
): Omit<Config, 'name'> {
  const [file, content, environment] = ['file', 'content', 'environment'].map((each) =>
    memberIn(member, each),
  )
  if (content) return { content: textOf(content) ?? '' }
  if (environment) {
    const name = textOf(environment)
    if (name === undefined) return noContent
    const value = variable(name)
    if (value === undefined)
      problem(environment, `The variable ${shown(name)} is not set. Set it in the environment, or in .env.`)
    return { content: value ?? '' }
  }
  const path = file && textOf(file)
  if (file && path !== undefined) return readConfig(file, path, files)?.content ?? noContent
  problem(member, 'Its content is missing. Add "file" or "content".')
  return noContent
}

/** After a problem. */
const noContent = { content: '' } as const

/** Text where that gives the same bytes: a plan with text can be read, and is smaller. */
function contentOfBytes(bytes: Buffer): Omit<Config, 'name'> {
  const content = decode(bytes)
  return content === undefined || content.includes('\0') || !bytes.equals(Buffer.from(content))
    ? { content: bytes.toString('base64'), encoding: 'base64' }
    : { content }
}

/** A file that the app gets a copy of, which the device does not treat as a secret. */
function readConfig(at: At, path: string, files: FolderFiles): ReturnType<typeof readFile> {
  const file = readFile(at, path, files, appPlanLimits.configBytes)
  if (file && isLikelySecret(file.path.replaceAll(sep, '/'), file.bytes))
    at.report.warn(
      at.tree.place,
      at.path,
      `${shown(file.path)} may be a secret, and the app gets a copy that the device does not treat as one. Move it away, or use "secrets".`,
    )
  return file
}

function readFile(
  at: At,
  path: string,
  files: FolderFiles,
  maxBytes: number,
): { path: string; bytes: Buffer; content: Omit<Config, 'name'>; isProgram: boolean } | undefined {
  try {
    const file = files.read(path, at.tree.place.folder, maxBytes)
    return { ...file, content: contentOfBytes(file.bytes) }
  } catch (cause) {
    if (cause instanceof FileRefusal) return problem(at, `${shown(path)}: ${cause.message}`)
    throw cause
  }
}

/** Files of the app, those of mounts included, within the limits of a plan. */
function createConfigs(files: FolderFiles): {
  readonly configs: ReadonlyMap<string, AppPlan['configs'][number]>
  readonly add: (at: At, config: Config) => boolean
  readonly addFile: Scope['addFile']
} {
  const configs = new Map<string, Config>()
  const byPath = new Map<string, string>()
  let bytes = 0
  const add = (at: At, config: Config): boolean => {
    const { length } = configBytes(config)
    bytes += length
    if (length > appPlanLimits.configBytes)
      problem(at, `The config has more than ${appPlanLimits.configBytes} bytes. Put it into the image.`)
    else if (bytes > appPlanLimits.allConfigBytes)
      problem(
        at,
        `All configs together have more than ${appPlanLimits.allConfigBytes} bytes. Put some into images.`,
      )
    else if (configs.size >= appPlanLimits.configs)
      problem(at, `The app has more than ${appPlanLimits.configs} configs. Put some into images.`)
    else {
      configs.set(config.name, config)
      return true
    }
    return false
  }
  /** A free name that shows the path. */
  const nameFor = (path: string): string => {
    const plain =
      path
        .replace(/[^A-Za-z0-9_.-]+/g, '-')
        .replace(/^[^A-Za-z0-9]+/, '')
        .slice(0, 56) || 'file'
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? plain : `${plain}-${count}`
      if (!configs.has(name)) return name
    }
  }
  return {
    configs,
    add,
    addFile: (at, path) => {
      const file = readConfig(at, path, files)
      if (!file) return undefined
      const known = byPath.get(file.path)
      if (known !== undefined) return { name: known, isProgram: file.isProgram }
      const name = nameFor(file.path)
      if (!add(at, { name, ...file.content })) return undefined
      byPath.set(file.path, name)
      return { name, isProgram: file.isProgram }
    },
  }
}
