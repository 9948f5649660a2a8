import type { TokenResponse } from '@selvedge/protocol'
import type { Input, OptionDeclaration } from '../command.ts'
import { signInNeeded, UsageError } from '../failure.ts'
import { developerTokenOf } from '../login/developer-token.ts'
import type { Login } from '../login/sign-ins.ts'
import type { Context, Identity } from './context.ts'
import { readInputFile } from './input-file.ts'
import { localTokenFor, renewLease } from './lease.ts'
import type { Selection } from './selection.ts'

/** Options of every command that needs an access token. Secrets come from files: every user can read arguments. */
export const accessTokenOptions: readonly OptionDeclaration[] = [
  { flags: '--token-file <file>', description: 'file with an edge access token; - for standard input' },
  ...exchangeOptions(),
]

export function exchangeOptions(): readonly OptionDeclaration[] {
  return [
    {
      flags: '--developer-token-file <file>',
      description: 'file with a developer ID token, to make the exchange with; - for standard input',
    },
    { flags: '--client-id <id>', description: 'client ID of the project, for the exchange' },
  ]
}

type Options = Input['options']

/** Bytes of a file with one token. */
const maxSecretBytes = 65_536

/** The access token of the options: as given, or from an exchange with the edge ID token of this node. */
export async function accessTokenOf(context: Context, options: Options, scope: string): Promise<string> {
  const { tokenFile } = options
  if (typeof tokenFile === 'string') return readTokenFile(tokenFile)
  const { SELVEDGE_ACCESS_TOKEN: fromEnv } = context.selection().env
  if (fromEnv && options.developerTokenFile === undefined) return fromEnv
  const source = await sourceOf(context, options)
  try {
    return (await exchangeWith(context, source, scope)).access_token
  } catch (cause) {
    return localTokenFor(context, source.clientId, cause)
  }
}

export async function exchange(context: Context, options: Options, scope: string) {
  return exchangeWith(context, await sourceOf(context, options), scope)
}

/** What an access token is requested with. */
interface Source {
  readonly identity: Identity
  readonly clientId: string
  readonly developerToken: () => Promise<string> | string
}

async function sourceOf(context: Context, options: Options): Promise<Source> {
  const read = readDeveloper(options)
  const identity = await identityFor(context, read !== undefined)
  if (read) return { identity, clientId: read.clientId, developerToken: () => read.developerIdToken }
  const login = loginAt(context, identity)
  return { identity, clientId: login.clientId, developerToken: () => developerTokenOf(context, login) }
}

async function exchangeWith(
  context: Context,
  { identity, clientId, developerToken }: Source,
  scope: string,
): Promise<TokenResponse> {
  const developerIdToken = await developerToken()
  const { id_token: edgeIdToken } = await context.runtime.getEdgeIdToken()
  const request = { clientId, developerIdToken, edgeIdToken }
  const answer = await identity.client.exchange({ ...request, scope })
  const { lease_scope: leaseScope } = answer
  if (leaseScope !== undefined) await renewLease(context, { ...request, scope: leaseScope })
  return answer
}

/** The developer ID token of a file, for its project; undefined if the options name no file. */
function readDeveloper({ developerTokenFile, clientId }: Options) {
  if (typeof developerTokenFile !== 'string') return undefined
  if (typeof clientId !== 'string')
    throw new UsageError('--developer-token-file needs --client-id', 'Give the client ID of the project.')
  return { clientId, developerIdToken: readTokenFile(developerTokenFile) }
}

export function tokenNeeded({ context, env }: Selection, more = ''): UsageError {
  // The commands that come here with a token in the environment get a new one.
  const options = env.SELVEDGE_ACCESS_TOKEN ? '' : '--token-file, or '
  const unused = context && ` SELVEDGE_ACCESS_TOKEN is not used with the context ${context.name}.`
  const variable = options === '' ? '.' : ', or set SELVEDGE_ACCESS_TOKEN.'
  return signInNeeded(
    options === '' && !context ? `you are not signed in${more}` : `an access token is needed${more}`,
    `Sign in with "selvedge login", or give ${options}--developer-token-file with --client-id${unused ? `.${unused}` : variable}`,
  )
}

/** Without a sign-in, fail before the identity service is needed. */
async function identityFor({ identity, signIns, selection }: Context, hasToken: boolean): Promise<Identity> {
  if (!hasToken) {
    const { urls, problems } = signIns.list()
    if (urls.length === 0) throw problems[0] ?? tokenNeeded(selection())
  }
  return identity()
}

/** The sign-in at the identity service in use: its tokens go to no other one. */
function loginAt(context: Context, { url }: Identity): Login {
  const login = context.signIns.read(url)
  if (!login)
    throw tokenNeeded(
      context.selection(),
      `, and you are not signed in at ${url}, only at ${context.signIns.list().urls.join(', ')}`,
    )
  return login
}

/** @param path of a file with a token; `-` for standard input @throws UsageError */
export function readTokenFile(path: string): string {
  const secret = readInputFile(
    path,
    maxSecretBytes,
    'Give the path of a file that contains only the token.',
  ).trim()
  if (secret !== '') return secret
  throw signInNeeded(
    `${path === '-' ? 'standard input' : path} is empty, and should contain a token`,
    'Get a token with "selvedge token access", or sign in with "selvedge login".',
  )
}
