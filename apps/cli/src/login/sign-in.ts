/** Signs a person in with the device authorization grant (RFC 8628). */
import { isSelvedgeError } from '@selvedge/client'
import { cliClientId } from '@selvedge/protocol'
import { onOneLine } from '@selvedge/protocol/redaction'
import { renderUnicodeCompact } from 'uqr'
import type { Input, OptionDeclaration } from '../command.ts'
import type { Context, Identity } from '../context/context.ts'
import { readServiceUrl } from '../context/service-url.ts'
import { openPage } from '../output/browser.ts'
import { formatJsonLine } from '../output/json.ts'
import { spinning } from '../output/spinner.ts'
import type { Terminal } from '../output/terminal.ts'
import { loginOf } from './developer-token.ts'
import type { Login } from './sign-ins.ts'

const usualScope =
  'openid edge:mcm edge:clusters edge:account:associate edge:account:unassociate offline_access'

/** Options of a command that may sign in. */
export const signInOptions: readonly OptionDeclaration[] = [
  {
    flags: '--client-id <id>',
    description:
      'client ID of a project; default: the command line itself. Images and containers belong to the client that deployed them',
  },
  { flags: '--scope <list>', description: `scopes, separated by spaces; default "${usualScope}"` },
  { flags: '--skip-browser', description: 'do not open the page on this desktop' },
]

type Begun = Awaited<ReturnType<Identity['client']['authorizeDevice']>>

/** Instructions for the person; on standard error, because standard output contains only the result. */
function show(
  terminal: Terminal,
  { user_code, verification_uri, verification_uri_complete, expires_in }: Begun,
): void {
  const lines = [
    '',
    `Open    ${onOneLine(verification_uri_complete)}`,
    `Code    ${onOneLine(user_code)}`,
    '',
    `Sign in there and compare the code. Another device can open ${onOneLine(verification_uri)}. It expires in ${Math.round(expires_in / 60)} minutes.`,
    '',
  ]
  // A QR code for the camera of a phone.
  if (terminal.isWatched) lines.push(renderUnicodeCompact(verification_uri_complete, { border: 2 }), '')
  terminal.note(lines.slice(0, -1).join('\n'))
}

/** Minimum and maximum poll interval in seconds, whatever interval the service requests. */
const pauses = { shortest: 1, longest: 60 }
const within = (seconds: number) => Math.min(Math.max(seconds, pauses.shortest), pauses.longest)

const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

/** Polls (RFC 8628 § 3.5) until the person has approved or refused. */
async function poll(identity: Identity['client'], clientId: string, { device_code, interval }: Begun) {
  let pause = within(interval)
  for (;;) {
    await wait(pause)
    try {
      return await identity.redeemDevice({ clientId, deviceCode: device_code })
    } catch (cause) {
      const reason = isSelvedgeError(cause) ? cause.reason : undefined
      if (reason === 'slow_down') pause = within(pause + 5)
      // A lost response is requested again, with back-off (RFC 8628 § 3.5).
      else if (reason === 'timeout' || reason === 'not_running') pause = within(pause * 2)
      else if (reason !== 'authorization_pending') throw cause
    }
  }
}

/**
 * Signs in and stores it. A sign-in that it replaces is revoked.
 *
 * @param open opens a page on this desktop
 * @throws OAuthFailure, ConnectionFailure; UsageError for a page that must not be opened
 */
export async function signIn(
  context: Context,
  options: Input['options'],
  open: typeof openPage = openPage,
): Promise<Login> {
  const clientId = clientIdOf(options) ?? cliClientId
  const scope = typeof options.scope === 'string' ? options.scope : usualScope
  const { signIns } = context
  const { url: identityUrl, client: identity } = await context.identity()
  // Read first: a file that cannot be replaced fails the command before the person signs in.
  const before = signIns.read(identityUrl)
  const begun = await identity.authorizeDevice({ clientId, scope: withNeeded(scope) })
  for (const name of ['verification_uri', 'verification_uri_complete'] as const)
    readPageUrl(begun[name], `"${name}" of ${identityUrl}`)
  present(context, options, begun, open)
  const polled = poll(identity, clientId, begun)
  const made = loginOf(
    { identityUrl, clientId },
    await spinning(context.terminal, 'waiting until you approve the sign-in', polled),
  )
  signIns.write(made)
  // If revoking fails, the command still succeeds.
  if (before) {
    const { clientId: client, refreshToken: token } = before
    await identity.revoke({ clientId: client, token }).catch(() => undefined)
  }
  return made
}

/** The client ID that a sign-in was requested for. */
export const clientIdOf = ({ clientId }: Input['options']): string | undefined =>
  typeof clientId === 'string' ? clientId : undefined

/** Gives the code to the person, or to the program that reads the output, and opens the page on a desktop. */
function present(
  { terminal, env }: Context,
  options: Input['options'],
  begun: Begun,
  open: typeof openPage,
): void {
  if (options.json) {
    const { user_code, verification_uri, verification_uri_complete, expires_in } = begun
    const shown = { user_code, verification_uri, verification_uri_complete, expires_in }
    terminal.out(formatJsonLine(shown))
    return
  }
  show(terminal, begun)
  if (!options.skipBrowser && open(begun.verification_uri_complete, terminal, env))
    terminal.note('The page opens in the browser of this desktop.')
}

/** The page of a sign-in is where a password is typed: HTTPS, or this machine. @throws UsageError */
function readPageUrl(text: string, what: string): void {
  const { origin, username, password } = URL.canParse(text)
    ? new URL(text)
    : { origin: text, username: '', password: '' }
  // A user name would hide the host: https://id.example.com@other.example
  readServiceUrl(username === '' && password === '' ? origin : text, what)
}

/** A sign-in needs a refresh token and an ID token, so these two scopes are always requested. */
const withNeeded = (scope: string): string =>
  [...new Set([...scope.split(' ').filter(Boolean), 'openid', 'offline_access'])].join(' ')
