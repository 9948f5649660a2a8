import { readFileSync } from 'node:fs'
import type { ConfigOf, Options } from './option.ts'

/** A configuration that can't be used. The message names the option, its value and what was expected. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export interface ConfigSources {
  /** Arguments after the program: `--gps.positionalOrder=latitude-first`. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Members of this program's section of the configuration file. */
  readonly file: object
}

/**
 * The configuration of a program: defaults, then file, then environment, then command line; the last one wins.
 *
 * @throws ConfigError on an unknown option or a value that its option does not take
 */
export function loadConfig<const Table extends Options>(
  table: Table,
  sources: ConfigSources,
): ConfigOf<Table> {
  const config: Record<string, unknown> = {}
  for (const [name, { fallback }] of Object.entries(table)) config[name] = fallback
  const set = (name: string, value: unknown, from: string) => {
    const option = Object.hasOwn(table, name) ? table[name] : undefined
    if (!option)
      throw new ConfigError(`${from}: unknown option "${name}"; known are ${Object.keys(table).join(', ')}`)
    const read = option.schema.safeParse(value)
    if (!read.success) {
      throw new ConfigError(
        `${from}: option "${name}" is ${JSON.stringify(value)}: ${read.error.issues[0]?.message}`,
      )
    }
    config[name] = read.data
  }
  for (const [name, value] of flatten(sources.file, table)) set(name, value, 'configuration file')
  for (const [name, { env, fromText }] of Object.entries(table)) {
    const text = env === undefined ? undefined : sources.env[env]
    if (text !== undefined && text !== '') set(name, fromText(text), `environment variable ${env}`)
  }
  for (const argument of sources.argv) {
    const match = /^--([\w.]+)=(.*)$/s.exec(argument)
    if (!match) throw new ConfigError(`argument "${argument}" is not of the form --option=value`)
    const [, name, text] = match as unknown as [string, string, string]
    set(name, Object.hasOwn(table, name) ? table[name]!.fromText(text) : text, 'command line')
  }
  return Object.freeze(config) as ConfigOf<Table>
}

/** What sets an option, for people: `option "listen.port" or environment variable SELVEDGE_RUNTIME_PORT`. */
export function settingOf<const Table extends Options>(table: Table, name: keyof Table & string): string {
  const env = table[name]?.env
  return `option "${name}"${env === undefined ? '' : ` or environment variable ${env}`}`
}

/** Members of nested objects under their dotted path: `{ "gps": { "positionalOrder": … } }` is `gps.positionalOrder`. */
function flatten(value: object, table: Options, path = ''): [string, unknown][] {
  return Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    const name = path === '' ? key : `${path}.${key}`
    const isGroup =
      typeof inner === 'object' && inner !== null && !Array.isArray(inner) && !Object.hasOwn(table, name)
    return isGroup ? flatten(inner, table, name) : [[name, inner]]
  })
}

/** Sections of the configuration file: one a program, and the state folder that all of them share. */
const sections = ['state', 'runtime', 'identity', 'discovery'] as const

/**
 * One program's part of the configuration file.
 *
 * @param path file, or undefined for none
 * @throws ConfigError when the file can't be read, is not JSON or has an unknown section
 */
export function readConfigFile(
  path: string | undefined,
  section: 'runtime' | 'identity' | 'discovery',
): object {
  if (!path) return {}
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new ConfigError(`configuration file ${path}: ${(cause as Error).message}`, { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigError(`configuration file ${path}: expected an object with ${sections.join(', ')}`)
  }
  for (const key of Object.keys(value)) {
    if (!(sections as readonly string[]).includes(key)) {
      throw new ConfigError(
        `configuration file ${path}: unknown section "${key}"; known are ${sections.join(', ')}`,
      )
    }
  }
  const { state, [section]: own = {} } = value as { state?: string } & Record<string, object>
  if (typeof own !== 'object' || own === null || Array.isArray(own)) {
    throw new ConfigError(`configuration file ${path}: section "${section}" is not an object`)
  }
  return state === undefined ? own : { state, ...own }
}
