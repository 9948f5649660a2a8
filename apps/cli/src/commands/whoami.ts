import { command, type Input } from '../command.ts'
import { readTokenFile, tokenNeeded } from '../context/access-token.ts'
import type { Context } from '../context/context.ts'
import { type Bearer, readBearer } from '../context/person.ts'
import { describeFailure, exitCodes, signInNeeded } from '../failure.ts'
import { developerTokenOf } from '../login/developer-token.ts'

interface Device {
  readonly nodeId: string
  readonly name: string
  /** Account of the device; empty: it has no account. */
  readonly accountId: string
}

interface WhoAmI {
  /** Where the token is from: `sign-in`, `--token-file` or `SELVEDGE_ACCESS_TOKEN`. */
  readonly source: string
  /** Identity service of the sign-in; null for a token. */
  readonly identityUrl: string | null
  readonly context: string | null
  readonly bearer: Bearer
  /** The device of the context; `problem` is the reason why it is not known. */
  readonly device: Device | { readonly problem: string }
}

export const whoami = command({
  path: ['whoami'],
  summary: 'Show who you are for this device: person, account, device, scopes, and until when.',
  options: [{ flags: '--token-file <file>', description: 'file with an access token; - for standard input' }],
  run: async (context, { options }): Promise<WhoAmI> => {
    const found = await findBearer(context, options)
    const { context: named } = context.selection()
    return { ...found, context: named?.name ?? null, device: await findDevice(context) }
  },
  human: (result) =>
    describe(result)
      .map(([name, value]) => `${name.padEnd(9)}  ${value}`)
      .join('\n'),
})

async function findBearer(
  context: Context,
  { tokenFile }: Input['options'],
): Promise<Pick<WhoAmI, 'source' | 'identityUrl' | 'bearer'>> {
  if (typeof tokenFile === 'string')
    return {
      source: '--token-file',
      identityUrl: null,
      bearer: bearerOf(readTokenFile(tokenFile), tokenFile),
    }
  const { SELVEDGE_ACCESS_TOKEN: token } = context.selection().env
  if (token) {
    const source = 'SELVEDGE_ACCESS_TOKEN'
    return { source, identityUrl: null, bearer: bearerOf(token, source) }
  }
  const login = context.signIns.read(await identityUrlOf(context))
  if (!login) throw tokenNeeded(context.selection())
  const bearer = bearerOf(await developerTokenOf(context, login), 'the stored ID token')
  const scopes = login.scope.split(' ').filter((each) => each !== '')
  return {
    source: 'sign-in',
    identityUrl: login.identityUrl,
    bearer: { ...bearer, clientId: login.clientId, scopes },
  }
}

/** @param what names the token @throws UsageError if it is not a token */
function bearerOf(token: string, what: string): Bearer {
  const bearer = readBearer(token)
  if (bearer) return bearer
  throw signInNeeded(
    `${what} holds no token`,
    'Give the token as it was issued, with nothing before or after it.',
  )
}

/** The only sign-in counts also while the device does not answer. @throws UsageError without a sign-in */
async function identityUrlOf({ signIns, findService, selection }: Context): Promise<string> {
  const { urls, problems } = signIns.list()
  if (urls.length === 0) throw problems[0] ?? tokenNeeded(selection())
  try {
    return (await findService('identity')).url
  } catch (cause) {
    if (urls.length > 1 || describeFailure(cause).code !== exitCodes.notRunning) throw cause
    return urls[0]!
  }
}

async function findDevice({ runtime }: Context): Promise<WhoAmI['device']> {
  try {
    const { nodeId, name, accountId } = await runtime.getMe()
    return { nodeId, name, accountId }
  } catch (cause) {
    return { problem: describeFailure(cause).message }
  }
}

function describe({ source, identityUrl, context, bearer, device }: WhoAmI): [string, string][] {
  const { email, accountId, clientId, nodeId, scopes, expiresAt } = bearer
  return [
    ['person', email ?? 'not stated by the token'],
    ['account', accountId ?? 'not stated by the token'],
    ['device', describeDevice(device, bearer)],
    ...(nodeId !== null && 'nodeId' in device && nodeId !== device.nodeId
      ? [['', `the token is for another node, ${nodeId}`] as [string, string]]
      : []),
    ...(context === null ? [] : [['context', context] as [string, string]]),
    ['client', clientId ?? 'not stated by the token'],
    ['scopes', scopes.join(' ') || 'those of the client'],
    ['from', identityUrl === null ? source : `sign-in at ${identityUrl}`],
    [
      'expires',
      `${expiresAt ?? 'not stated by the token'}${identityUrl === null ? '' : ', and is renewed when it is used, until "selvedge logout"'}`,
    ],
  ]
}

function describeDevice(device: WhoAmI['device'], { accountId }: Bearer): string {
  if ('problem' in device) return `unknown: ${device.problem}`
  const owner =
    device.accountId === ''
      ? 'no account; "selvedge up" makes it yours'
      : device.accountId === accountId
        ? 'of this account'
        : `of another account, ${device.accountId}`
  return `${device.name}, node ${device.nodeId}, ${owner}`
}
