import { readFileSync } from 'node:fs'
import type { Input, OptionDeclaration } from '../command.ts'
import { UsageError } from '../failure.ts'
import { developerTokenOf } from '../login/developer-token.ts'
import type { Context, Identity } from './context.ts'

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

/** The access token of the options: as given, or from an exchange with the edge ID token of this node. */
export async function accessTokenOf(context: Context, options: Options, scope: string): Promise<string> {
  const { tokenFile } = options
  if (typeof tokenFile === 'string') return readSecret(tokenFile)
  const { SELVEDGE_ACCESS_TOKEN: fromEnv } = context.env
  if (fromEnv && options.developerTokenFile === undefined) return fromEnv
  return (await exchange(context, options, scope)).access_token
}

export async function exchange(context: Context, options: Options, scope: string) {
  const read = readDeveloper(options)
  const identity = await identityFor(context, read !== undefined)
  const { clientId, developerIdToken } = read ?? (await signedIn(context, identity))
  const { id_token: edgeIdToken } = await context.runtime.getEdgeIdToken()
  return identity.client.exchange({ clientId, developerIdToken, edgeIdToken, scope })
}

/** The developer ID token of a file, for its project; undefined if the options name no file. */
function readDeveloper({ developerTokenFile, clientId }: Options) {
  if (typeof developerTokenFile !== 'string') return undefined
  if (typeof clientId !== 'string')
    throw new UsageError('--developer-token-file needs --client-id', 'Give the client ID of the project.')
  return { clientId, developerIdToken: readSecret(developerTokenFile) }
}

const needed = [
  'an access token is needed',
  'Sign in with "selvedge login", or give --token-file, or --developer-token-file with --client-id, or set SELVEDGE_ACCESS_TOKEN.',
] as const

/** Without a sign-in, fail before the identity service is needed. */
async function identityFor({ identity, signIns }: Context, hasToken: boolean): Promise<Identity> {
  if (!hasToken) {
    const { urls, problems } = signIns.list()
    if (urls.length === 0) throw problems[0] ?? new UsageError(...needed)
  }
  return identity()
}

/** The sign-in at the identity service in use: its tokens go to no other one. */
async function signedIn(context: Context, { url }: Identity) {
  const login = context.signIns.read(url)
  if (!login)
    throw new UsageError(
      `${needed[0]}, and you are not signed in at ${url}, only at ${context.signIns.list().urls.join(', ')}`,
      needed[1],
    )
  return { clientId: login.clientId, developerIdToken: await developerTokenOf(context, login) }
}

function readSecret(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8').trim()
  } catch (cause) {
    throw new UsageError(
      `can't read ${path}: ${(cause as Error).message}`,
      'Give the path of a file that contains only the token.',
    )
  }
}
