import { readFileSync } from 'node:fs'
import type { Input, OptionDeclaration } from '../command.ts'
import { UsageError } from '../failure.ts'
import { developerTokenOf } from '../login/developer-token.ts'
import type { Context } from './context.ts'

/** Options of every command that needs an access token. Secrets come from files: arguments are seen by every user. */
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

/** The access token that the options lead to: as it is, or by the exchange with this node's edge ID token. */
export async function accessTokenOf(context: Context, options: Options, scope: string): Promise<string> {
  const { tokenFile } = options
  if (typeof tokenFile === 'string') return readSecret(tokenFile)
  const fromEnv = process.env.SELVEDGE_ACCESS_TOKEN
  if (fromEnv && options.developerTokenFile === undefined) return fromEnv
  return (await exchange(context, options, scope)).access_token
}

export async function exchange(context: Context, options: Options, scope: string) {
  const { clientId, developerIdToken, identity } = await developerOf(context, options)
  const { id_token: edgeIdToken } = await context.runtime.getEdgeIdToken()
  return identity.exchange({ clientId, developerIdToken, edgeIdToken, scope })
}

/** Who asks: the token of a file for its project, or the sign-in of this machine. */
async function developerOf(context: Context, { developerTokenFile, clientId }: Options) {
  if (typeof developerTokenFile === 'string' && typeof clientId === 'string')
    return { clientId, developerIdToken: readSecret(developerTokenFile), identity: context.identity }
  const login = developerTokenFile === undefined ? context.loginFile.read() : undefined
  if (!login) {
    throw new UsageError(
      'an access token is needed',
      'Sign in with "selvedge login", or give --token-file, or --developer-token-file with --client-id, or set SELVEDGE_ACCESS_TOKEN.',
    )
  }
  const developerIdToken = await developerTokenOf(context, login)
  return { clientId: login.clientId, developerIdToken, identity: context.identityAt(login.identityUrl) }
}

function readSecret(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8').trim()
  } catch (cause) {
    throw new UsageError(
      `can't read ${path}: ${(cause as Error).message}`,
      'Name a file that holds nothing but the token.',
    )
  }
}
