/** The contexts of this user: names for devices, with the addresses that the options name otherwise. No secret is in them. */
import { isAbsolute, join } from 'node:path'
import { UsageError } from '../failure.ts'
import { damagedFile, readConfigFile, writeConfigFile } from './config-file.ts'
import { readServiceUrl } from './service-url.ts'

/** What the options of the same names are otherwise. It has `url` or `state`, or both: `state` then is the folder for `admin` commands. */
export interface NamedContext {
  readonly name: string
  readonly url?: string
  /** Absolute path of the state folder. */
  readonly state?: string
  readonly identityUrl?: string
  readonly discoveryUrl?: string
  /** Absolute path of a file with the API key of the runtime. */
  readonly apiKeyFile?: string
}

interface ContextList {
  /** Name of the context in use; undefined: no context. */
  readonly current: string | undefined
  readonly contexts: readonly NamedContext[]
}

export interface Contexts {
  /** @throws UsageError if the file is damaged, of a later format, or not private */
  read(): ContextList
  /** @throws UsageError if there is no context of that name */
  find(name: string): NamedContext
  /** @throws UsageError if the name is in use, or there are too many */
  add(context: NamedContext): void
  /** @param name undefined: no context @throws UsageError if there is no context of that name */
  use(name: string | undefined): void
  /** @throws UsageError if there is no context of that name */
  remove(name: string): void
}

/** Means no context: the environment, and the state folder of the current folder. */
export const noContext = 'default'

const maxContexts = 1000
const maxTextLength = 4096
const members = ['name', 'url', 'state', 'identityUrl', 'discoveryUrl', 'apiKeyFile'] as const

/** @param folder the user's configuration folder */
export function createContexts(folder: string): Contexts {
  const path = join(folder, 'contexts.json')
  const write = ({ current, contexts }: ContextList) =>
    writeConfigFile(path, { ...(current !== undefined && { current }), contexts })
  const read = () => readList(path)
  const find = (name: string) => findIn(read(), name)
  return {
    read,
    find,
    add(context) {
      const { current, contexts } = read()
      if (contexts.some(({ name }) => name === context.name))
        throw new UsageError(
          `there is a context ${context.name} already`,
          `Remove it first: selvedge context remove ${context.name}`,
        )
      if (contexts.length === maxContexts)
        throw new UsageError(`there are ${maxContexts} contexts, which is the maximum`, 'Remove one first.')
      write({ current, contexts: [...contexts, context] })
    },
    use(name) {
      if (name !== undefined) find(name)
      write({ ...read(), current: name })
    },
    remove(name) {
      find(name)
      const { current, contexts } = read()
      const left = contexts.filter((each) => each.name !== name)
      write({ current: current === name ? undefined : current, contexts: left })
    },
  }
}

/** @returns the name @throws UsageError for a name that no context can have */
export function readContextName(name: string): string {
  if (isName(name) && name !== noContext) return name
  throw new UsageError(
    name === noContext
      ? `the name ${noContext} means no context`
      : `a context cannot have the name ${JSON.stringify(name.slice(0, 80))}`,
    'Use 1 to 63 letters, digits and . _ -, such as kitchen',
  )
}

const isName = (name: unknown): boolean =>
  typeof name === 'string' && /^[a-z0-9][a-z0-9._-]{0,62}$/i.test(name)

function findIn({ contexts }: ContextList, name: string): NamedContext {
  const found = contexts.find((each) => each.name === name)
  if (found) return found
  const names = contexts.slice(0, 10).map((each) => each.name)
  throw new UsageError(
    `there is no context ${JSON.stringify(name.slice(0, 80))}`,
    names.length === 0
      ? 'Add one: selvedge context add <name> --url <url>'
      : `There ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}${contexts.length > 10 ? ', …' : ''}. "selvedge context list" shows all.`,
  )
}

function readList(path: string): ContextList {
  const remedy = 'Correct or remove it, and add the contexts again: selvedge context add'
  const content = readConfigFile(path, remedy)
  if (content === undefined) return { current: undefined, contexts: [] }
  const { current, contexts } = Object(content) as { current?: unknown; contexts?: unknown }
  const isList = Array.isArray(contexts) && contexts.length <= maxContexts && contexts.every(isContext)
  if (!isList) throw damagedFile(path, remedy)
  const names = new Set(contexts.map(({ name }) => name))
  const isKnown = current === undefined || names.has(current as string)
  if (names.size !== contexts.length || !isKnown) throw damagedFile(path, remedy)
  for (const each of contexts) expectUrls(each, path)
  return { current: current as string | undefined, contexts }
}

function isContext(value: unknown): value is NamedContext {
  if (typeof value !== 'object' || value === null) return false
  const { name, url, state, apiKeyFile } = value as Partial<NamedContext>
  const isText = (each: unknown) => typeof each === 'string' && each !== '' && each.length <= maxTextLength
  const isPath = (each: string | undefined) => each === undefined || isAbsolute(each)
  return (
    Object.entries(value).every(([key, each]) => members.some((own) => own === key) && isText(each)) &&
    isName(name) &&
    name !== noContext &&
    (url !== undefined || state !== undefined) &&
    isPath(state) &&
    isPath(apiKeyFile)
  )
}

function expectUrls({ name, url, identityUrl, discoveryUrl }: NamedContext, path: string): void {
  for (const [key, each] of Object.entries({ url, identityUrl, discoveryUrl }))
    if (each !== undefined) readServiceUrl(each, `"${key}" of the context ${name} in ${path}`)
}
