/**
 * Settings in configuration files that are fit for development only. Only options that need attention are known here; a value that is not
 * in a file is the default, which is safe, or comes from the environment of the daemon, which cannot be seen from here.
 */
import { existsSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { readOwnFile } from '../context/config-folder.ts'
import type { Env } from '../context/runtime-address.ts'
import { type Check, checksOf, failed, fixable, passed } from './check.ts'

const sections = ['runtime', 'identity', 'discovery'] as const
export type Section = (typeof sections)[number]

export interface Settings {
  /** Files that were read. */
  readonly files: readonly string[]
  /** Files that cannot be used, as failed checks. */
  readonly problems: readonly Check[]
  /** State folders that the files name. */
  readonly states: readonly string[]
  /** Value of an option, by its dotted name; undefined if no file sets it. */
  get(section: Section, name: string): unknown
  /** Every option that a file sets, with its section. */
  all(): readonly (readonly [string, unknown])[]
}

/** Where the packages put the files. */
const packaged = sections.map((section) => `/etc/selvedge/${section}.json`)

export function readSettings(env: Env): Settings {
  const paths = env.SELVEDGE_CONFIG ? [env.SELVEDGE_CONFIG] : packaged.filter((path) => existsSync(path))
  const problems: Check[] = []
  const states: string[] = []
  const values = new Map<string, unknown>()
  for (const path of paths) {
    try {
      const content: unknown = JSON.parse(
        readOwnFile(path, 0o022, `Only its owner may change it: chmod go-w ${path}`) ?? '',
      )
      const { state, ...own } = Object(content) as Record<string, unknown>
      if (typeof state === 'string') states.push(state)
      for (const section of sections) flatten(own[section], `${section}.`, values)
    } catch (cause) {
      problems.push(unusable(path, cause as Error))
    }
  }
  return {
    files: paths,
    problems,
    states,
    get: (section, name) => values.get(`${section}.${name}`),
    all: () => [...values].filter(([, value]) => !isGroup(value)),
  }
}

/** The mode of a file is repaired without a decision; its content is not. */
function unusable(path: string, { message }: Error): Check {
  const detail = `${path} cannot be used: ${message}`
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & 0o022) === 0
    ? failed('settings', detail, 'Repair the file, or run the command as root or as the user of the service.')
    : fixable('settings', detail, ['chmod', 'go-w', path])
}

/** Options have two names at most, such as `listen.addresses`. */
function flatten(value: unknown, prefix: string, into: Map<string, unknown>, depth = 0): void {
  if (!isGroup(value) || depth > 2) return
  for (const [name, inner] of Object.entries(value)) {
    into.set(prefix + name, inner)
    flatten(inner, `${prefix}${name}.`, into, depth + 1)
  }
}

const isGroup = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Which settings are not fit for production. */
export function checkSettings(settings: Settings): readonly Check[] {
  const { files, problems } = settings
  if (files.length === 0)
    return [passed('settings', 'no configuration file: the defaults apply (SELVEDGE_CONFIG names a file)')]
  const findings = [
    ...problems,
    ...sections.flatMap((section) => rules.flatMap((rule) => rule(settings, section))),
  ]
  return checksOf('settings', findings, files.join(', '))
}

type Rule = (settings: Settings, section: Section) => readonly Check[]

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((each): each is string => typeof each === 'string')

const rules: readonly Rule[] = [
  ({ get }, section) =>
    textsOf(get(section, 'allowedOrigins'))
      .filter((origin) => !origin.startsWith('https://') || origin.includes('*'))
      .map((origin) =>
        failed(
          'settings',
          `${section}: allowedOrigins has ${origin}`,
          'Name origins with https:// only: anyone on the network can pose as the others.',
        ),
      ),
  ({ get }, section) =>
    textsOf(get(section, 'metrics.listen'))
      .filter((listener) => !isLocalListener(listener))
      .map((listener) =>
        failed(
          'settings',
          `${section}: metrics.listen is ${listener}, which the network reaches`,
          'Use a Unix socket or a loopback address, and let the collector run on this machine.',
        ),
      ),
  ({ get }, section) => insecureRegistries(get(section, 'images.insecure'), section),
  ({ get }, section) =>
    get(section, 'log.level') === 'debug'
      ? [
          failed(
            'settings',
            `${section}: log.level is debug`,
            'Set it to info: debug writes a line for each request.',
          ),
        ]
      : [],
  ({ get }, section) =>
    textsOf([
      get(section, 'issuer'),
      get(section, 'url'),
      get(section, 'identity.url'),
      get(section, 'discovery.url'),
    ])
      .filter((url) => url.startsWith('http://'))
      .map((url) =>
        failed(
          'settings',
          `${section}: ${url} is not encrypted`,
          'Put a TLS proxy before the service, and name its URL with https://.',
        ),
      ),
  ({ get }, section) => {
    const ports = ['listen.port'].filter((name) => get(section, name) === 0)
    return ports.map((name) =>
      failed(
        'settings',
        `${section}: ${name} is 0, a random port`,
        'Set a port: clients and proxies have to find it.',
      ),
    )
  },
  ({ get }, section) =>
    section === 'identity' && get(section, 'enrolment') === 'open'
      ? [
          failed(
            'settings',
            'identity: enrolment is open to any device',
            'Set it to code, and give each device a code: selvedge admin enrolment create.',
          ),
        ]
      : [],
]

const insecureRegistries = (value: unknown, section: Section): Check[] =>
  textsOf(value).map((registry) =>
    failed(
      'settings',
      `${section}: images.insecure has ${registry}`,
      'Give the registry a certificate: anyone on the network can pose as it and read its credentials.',
    ),
  )

/** Settings that every `selvedge doctor` shows; empty if there is nothing to show. */
export const checkInsecure = ({ get }: Settings): readonly Check[] =>
  insecureRegistries(get('runtime', 'images.insecure'), 'runtime')

/** Whether only this machine reaches a listener: a path, or a loopback address with a port. */
function isLocalListener(listener: string): boolean {
  if (listener === '' || listener.startsWith('/') || listener.startsWith('unix:') || listener.startsWith('.'))
    return true
  const host = listener
    .replace(/^https?:\/\//, '')
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
  return host === 'localhost' || isLoopback(host)
}

export const isLoopback = (host: string): boolean =>
  host === '::1' || host === 'localhost' || (isIP(host) === 4 && host.startsWith('127.'))
