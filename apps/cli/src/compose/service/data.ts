/** Keys about what a service gets: variables, files with variables, secrets, configs, labels. */
import { type AppService, maxConfigId, secretNamePattern } from '@selvedge/protocol'
import {
  type At,
  flagOf,
  itemsOf,
  matchOf,
  membersOf,
  note,
  pairsOf,
  problem,
  textOf,
  wholeOf,
} from '../at.ts'
import { readEnvFile } from '../env-file.ts'
import { FileRefusal } from '../folder-files.ts'
import { composeLimits } from '../limits.ts'
import { decode } from '../parse-yaml.ts'
import { shown } from '../report.ts'
import { isNull, memberOf } from '../tree.ts'
import { type Draft, ignored, type Keys, refused, type Scope, setSetting, used } from './draft.ts'

const variablePattern = /^[A-Za-z_][A-Za-z0-9_.-]{0,254}$/

/** Settings that the plan has in another form, and the key that sets each. */
const elsewhere: Readonly<Record<string, string>> = {
  'MCM.VOLUMES': 'volumes',
  'MCM.SECRETS': 'secrets',
  'MCM.CONFIGS': 'configs',
  'MCM.PORTS': 'ports',
  'MCM.NETWORK': 'network_mode',
  'MCM.HOSTNAME': 'hostname',
  'MCM.CAPABILITIES': 'cap_drop',
}

/** A variable of the service, or a setting of the runtime. A file with variables may only set variables. */
function setVariable(draft: Draft, name: string, value: string, at: At): void {
  if (!variablePattern.test(name))
    problem(at, `${shown(name)} is not the name of a variable. Write letters, digits and _ . -`)
  else if (!name.startsWith('MCM.')) draft.variables.set(name, value)
  else if (Object.hasOwn(elsewhere, name))
    problem(at, `Write "${elsewhere[name]}" of the service in place of ${name}.`)
  else setSetting(draft, name, value, at)
}

function readEnvironment(draft: Draft, at: At, scope: Scope): void {
  for (const pair of pairsOf(at)) {
    const value = pair.value ?? scope.variable(pair.name)
    if (value === undefined)
      note(pair, `${shown(pair.name)} has no value here and in the environment. The service does not get it.`)
    else setVariable(draft, pair.name, value, pair)
  }
}

interface EnvFileEntry {
  readonly at: At
  readonly path: string
  readonly isRequired: boolean
  readonly isRaw: boolean
}

function envFileEntry(at: At): EnvFileEntry | undefined {
  if (at.tree.kind === 'scalar') {
    const path = textOf(at)
    return path === undefined ? undefined : { at, path, isRequired: true, isRaw: false }
  }
  const members = new Map(
    membersOf(at, 'the path of a file, or a mapping with "path"').map((each) => [each.name, each]),
  )
  for (const [name, member] of members)
    if (!['path', 'required', 'format'].includes(name))
      problem(member, 'Only path, required and format are possible here.')
  const pathMember = members.get('path')
  const path = pathMember && textOf(pathMember)
  if (path === undefined) return problem(at, 'The path of the file is missing. Add "path".')
  const required = members.get('required')
  const format = members.get('format')
  return {
    at,
    path,
    isRequired: !required || (flagOf(required) ?? true),
    isRaw: format !== undefined && textOf(format) === 'raw',
  }
}

/** Files with variables; a later one replaces the values of an earlier one. They are read before `environment`. */
function readEnvFiles(draft: Draft, at: At, scope: Scope): void {
  const items = at.tree.kind === 'list' ? itemsOf(at) : isNull(at.tree) ? [] : [at]
  for (const item of items) {
    const entry = envFileEntry(item)
    if (entry) readOneEnvFile(draft, entry, scope)
  }
}

function readOneEnvFile(draft: Draft, { at, path, isRequired, isRaw }: EnvFileEntry, scope: Scope): void {
  try {
    const file = scope.files.read(path, at.tree.place.folder, composeLimits.envFileBytes)
    const text = decode(file.bytes)
    if (text === undefined)
      return void problem(at, `${shown(path)}: The file is not UTF-8. Save it in that encoding.`)
    const { lines, problems } = readEnvFile(text, { get: scope.variable, onUnset: () => undefined }, isRaw)
    for (const each of problems)
      at.report.problem(
        { ...at.tree.place, file: file.path, line: each.line, column: 1 },
        at.path,
        each.message,
      )
    for (const { name, value } of lines) {
      const own = value ?? scope.variable(name)
      if (name.startsWith('MCM.'))
        problem(at, `${shown(path)} sets ${name}. Write settings in "environment".`)
      else if (own !== undefined) draft.fileVariables.set(name, own)
    }
  } catch (cause) {
    if (!(cause instanceof FileRefusal)) throw cause
    if (cause.isMissing && !isRequired) note(at, `There is no ${shown(path)}; it is not required.`)
    else problem(at, `${shown(path)}: ${cause.message}`)
  }
}

/** Permissions and owner of a config in the container. */
type FileOwner = Pick<AppService['configs'][number], 'mode' | 'uid' | 'gid'>

interface Grant {
  /** The whole value; undefined for a name alone. */
  readonly members: ReadonlyMap<string, At>
  readonly at: At
  readonly source: string
  readonly target: string | undefined
}

/** A secret or config of a service: its name, or a mapping with `source` and `target`. */
function grantsOf(at: At): Grant[] {
  return itemsOf(at).flatMap((item): Grant[] => {
    if (item.tree.kind === 'scalar') {
      const source = textOf(item)
      return source === undefined ? [] : [{ at: item, source, target: undefined, members: new Map() }]
    }
    const members = membersOf(item, 'a name, or a mapping with "source"')
    for (const member of members)
      if (!['source', 'target', 'uid', 'gid', 'mode'].includes(member.name) && !member.name.startsWith('x-'))
        problem(member, 'Only source, target, uid, gid and mode are possible here.')
    const sourceTree = memberOf(item.tree, 'source')
    const targetTree = memberOf(item.tree, 'target')
    const source = sourceTree && textOf({ ...item, tree: sourceTree })
    if (source === undefined) {
      problem(item, 'Its name is missing. Add "source".')
      return []
    }
    const target = targetTree && textOf({ ...item, tree: targetTree })
    return [{ at: item, source, target, members: new Map(members.map((each) => [each.name, each])) }]
  })
}

function readSecrets(draft: Draft, at: At, scope: Scope): void {
  for (const { at: item, source, target, members } of grantsOf(at)) {
    for (const name of ['uid', 'gid', 'mode'])
      if (members.has(name))
        note(members.get(name)!, 'Every user in the container can read the file, and no user can change it.')
    const file = (target ?? source).replace(/^\/run\/secrets\//, '')
    if (!scope.has.secrets.has(source))
      problem(item, `The file has no secret ${shown(source)}. Add it below "secrets".`)
    else if (!secretNamePattern.test(file))
      problem(
        item,
        `${shown(target ?? source)} is not possible: secrets are files in /run/secrets. Write the name of the file.`,
      )
    else if (draft.secrets.some((each) => each.file === file))
      problem(item, `Two secrets have the file ${shown(file)}. Change one "target".`)
    else {
      draft.secrets.push({ secret: source, file })
      draft.places.secrets.push(item)
    }
  }
}

/** A path in the container. */
export const targetPattern = /^(?=.{1,200}$)(?:\/(?!\.{1,2}(?:\/|$))[\w.~+-]+)+$/

function readConfigs(draft: Draft, at: At, scope: Scope): void {
  for (const { at: item, source, target = `/${source}`, members } of grantsOf(at)) {
    const owner = {
      mode: modeOf(members.get('mode')),
      uid: idOf(members.get('uid')),
      gid: idOf(members.get('gid')),
    }
    if (!scope.has.configs.has(source))
      problem(item, `The file has no config ${shown(source)}. Add it below "configs".`)
    else addConfig(draft, source, target, item, owner)
  }
}

const readable = '0444'

/** Octal digits, also in the form of YAML 1.2 (`0o440`); a number without a zero before it would be a decimal one. */
function modeOf(at: At | undefined): string {
  const text = at && matchOf(at, /^0o?[0-7]{3}$/, 'permissions in octal digits, such as 0444')
  return text === undefined ? readable : `0${text.slice(-3)}`
}

const idOf = (at: At | undefined): number => (at && wholeOf(at, 0, maxConfigId)) ?? 0

/** A file of the app at a path in the container. */
export function addConfig(
  draft: Draft,
  config: string,
  target: string,
  at: At,
  owner: FileOwner = { mode: readable, uid: 0, gid: 0 },
): void {
  if (!targetPattern.test(target))
    problem(at, `${shown(target)} is not a path in the container. Write one such as /etc/app.conf.`)
  else {
    draft.configs.push({ config, target, ...owner })
    draft.places.configs.push(at)
  }
}

export const labels = { basePath: 'dev.selvedge.base-path', port: 'dev.selvedge.port' } as const

/** Value of the label for a service that the gateway has no path for. */
const noPath = 'none'

function readLabels(draft: Draft, at: At): void {
  for (const pair of pairsOf(at)) {
    const { name, value = '' } = pair
    if (name === labels.basePath) draft.gateway = { path: value === noPath ? undefined : value, at: pair }
    else if (name === labels.port) {
      if (/^[1-9]\d{0,4}$/.test(value) && Number(value) <= 65_535)
        draft.gatewayPort = { port: Number(value), at: pair }
      else problem(pair, `${shown(value)} is not a port. Write a number from 1 to 65535.`)
    } else if (name.startsWith('dev.selvedge.'))
      problem(pair, `There is no such label. Write ${labels.basePath} or ${labels.port}.`)
    else note(pair, 'Labels of other programs change nothing here.')
  }
}

export const dataKeys: Keys = {
  environment: used('variables of the service; `MCM.…` are settings of its container', readEnvironment),
  env_file: used('variables of the service, from files in the folder', readEnvFiles),
  secrets: used('files in `/run/secrets`', readSecrets),
  configs: used('files of the app, read-only, with `target`, `mode`, `uid` and `gid`', readConfigs),
  labels: used(
    `\`${labels.basePath}\` and \`${labels.port}\`: the path at the gateway; others change nothing`,
    readLabels,
  ),
  label_file: refused('Labels of files are not supported. Write them in "labels".'),
  external_links: refused('A service reaches only services of its app. Remove it.'),
  gpus: refused('Write the device nodes in "devices", or MCM.DEVICES: gpu in "environment" for /dev/dri.'),
  dns: refused('The runtime resolves names. Remove it.'),
  dns_opt: refused('The runtime resolves names. Remove it.'),
  dns_search: refused('The runtime resolves names. Remove it.'),
  domainname: ignored('Services of an app have no domain.'),
}
