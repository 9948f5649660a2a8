/** Which device a command is for: what the options name, the context that is named, what the environment names, or the context in use. */
import { UsageError } from '../failure.ts'
import { type Contexts, type NamedContext, noContext } from './contexts.ts'
import type { Env } from './runtime-address.ts'

export interface SelectionFlags {
  readonly context?: string
  readonly url?: string
  readonly state?: string
  readonly identityUrl?: string
  readonly discoveryUrl?: string
}

export interface Selection {
  /** The context that the addresses are from. */
  readonly context: NamedContext | undefined
  /** The addresses as options. */
  readonly flags: Omit<SelectionFlags, 'context'>
  /** The environment; with a context, without the addresses and secrets in it: they are of another device. */
  readonly env: Env
}

/** Variables that name a device, or are a secret of one. */
export const deviceVariables = [
  'SELVEDGE_STATE',
  'SELVEDGE_RUNTIME_URL',
  'SELVEDGE_IDENTITY_URL',
  'SELVEDGE_DISCOVERY_URL',
  'SELVEDGE_API_KEY',
  'SELVEDGE_ACCESS_TOKEN',
] as const

/** @throws UsageError for an unknown context, or one beside `--url` or `--state` */
export function select({ context: name, ...flags }: SelectionFlags, env: Env, contexts: Contexts): Selection {
  const context = findContext(name, flags, env, contexts)
  if (!context) return { context, flags, env }
  const { name: _, apiKeyFile: _file, ...addresses } = context
  return { context, flags: { ...addresses, ...flags }, env: withoutDevice(env) }
}

function findContext(
  name: string | undefined,
  { url, state }: SelectionFlags,
  env: Env,
  contexts: Contexts,
): NamedContext | undefined {
  const isAddressed = url !== undefined || state !== undefined
  if (name !== undefined && isAddressed)
    throw new UsageError(
      `--context and ${url === undefined ? '--state' : '--url'} both name a device`,
      'Give one of them.',
    )
  if (name === noContext) return undefined
  if (name !== undefined) return contexts.find(name)
  if (isAddressed || env.SELVEDGE_STATE || env.SELVEDGE_RUNTIME_URL) return undefined
  const { current } = contexts.read()
  return current === undefined ? undefined : contexts.find(current)
}

const withoutDevice = (env: Env): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !deviceVariables.some((each) => each === name)))
