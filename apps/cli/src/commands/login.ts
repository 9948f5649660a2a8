import { isSelvedgeError } from '@selvedge/client'
import { cliClientId } from '@selvedge/protocol'
import { renderUnicodeCompact } from 'uqr'
import { command } from '../command.ts'
import type { Context } from '../context/context.ts'
import { loginOf } from '../login/developer-token.ts'

const usualScope =
  'openid edge:mcm edge:clusters edge:account:associate edge:account:unassociate offline_access'

type Begun = Awaited<ReturnType<Context['identity']['authorizeDevice']>>

/** What a person has to do; on standard error, since the result alone is for standard output. */
function show({ user_code, verification_uri, verification_uri_complete, expires_in }: Begun): void {
  const { stderr } = process
  const lines = [
    '',
    `Open    ${verification_uri}`,
    `Code    ${user_code}`,
    '',
    `Sign in there and compare the code. It ends in ${Math.round(expires_in / 60)} minutes.`,
    '',
  ]
  // A picture for the camera of a phone, where there is somebody to see it.
  if (stderr.isTTY) lines.push(renderUnicodeCompact(verification_uri_complete, { border: 2 }), '')
  stderr.write(lines.join('\n'))
}

const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

/** Polls as told (RFC 8628 § 3.5), until somebody has decided. */
async function poll({ identity }: Context, clientId: string, { device_code, interval }: Begun) {
  let pause = interval
  for (;;) {
    await wait(pause)
    try {
      return await identity.redeemDevice({ clientId, deviceCode: device_code })
    } catch (cause) {
      const reason = isSelvedgeError(cause) ? cause.reason : undefined
      if (reason === 'slow_down') pause += 5
      // A lost answer is asked for again; RFC 8628 § 3.5 wants it ever more slowly.
      else if (reason === 'timeout' || reason === 'not_running') pause = Math.min(pause * 2, 60)
      else if (reason !== 'authorization_pending') throw cause
    }
  }
}

export const login = command({
  path: ['login'],
  summary: 'Sign in with a browser, here or elsewhere; later commands need no token then.',
  options: [
    { flags: '--client-id <id>', description: 'client ID of a project; default: the command line itself' },
    { flags: '--scope <list>', description: `scopes, separated by spaces; default "${usualScope}"` },
  ],
  run: async (context, { options }) => {
    const { identity, identityUrl, loginFile } = context
    const clientId = typeof options.clientId === 'string' ? options.clientId : cliClientId
    const scope = typeof options.scope === 'string' ? options.scope : usualScope
    const begun = await identity.authorizeDevice({ clientId, scope: withNeeded(scope) })
    show(begun)
    const made = loginOf({ identityUrl, clientId }, await poll(context, clientId, begun))
    const before = loginFile.read()
    loginFile.write(made)
    // The sign-in that this one replaces has no further use; that it can't be told is no reason to fail.
    if (before) {
      const { clientId: client, refreshToken: token } = before
      await context
        .identityAt(before.identityUrl)
        .revoke({ clientId: client, token })
        .catch(() => undefined)
    }
    return { identityUrl, clientId, scope: made.scope }
  },
  human: ({ identityUrl }) => `signed in at ${identityUrl}; try "selvedge account associate"`,
})

/** A sign-in that lasts, with a token that says whose it is, needs two scopes whatever else is asked for. */
const withNeeded = (scope: string): string =>
  [...new Set([...scope.split(' ').filter(Boolean), 'openid', 'offline_access'])].join(' ')
