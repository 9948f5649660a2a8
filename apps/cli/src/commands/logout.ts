import { command } from '../command.ts'
import type { Context } from '../context/context.ts'
import { signInNeeded } from '../failure.ts'

export const logout = command({
  path: ['logout'],
  summary: 'End the sign-in of this user: its tokens are revoked and its file is removed.',
  run: async (context) => {
    const { signIns, identityAt } = context
    const login = signIns.read(await urlOf(context))
    if (!login) throw signInNeeded('you are not signed in', 'Sign in with "selvedge login".')
    const { identityUrl, clientId, refreshToken: token } = login
    const revoked = await identityAt(identityUrl)
      .revoke({ clientId, token })
      .then(
        () => true,
        () => false,
      )
    signIns.remove(identityUrl)
    context.leases.removeAll({ identityUrl, clientId })
    return { identityUrl, revoked }
  },
  human: ({ identityUrl, revoked }) =>
    revoked
      ? 'signed out'
      : `signed out here; ${identityUrl} did not answer, so the tokens are not revoked: revoke the sign-in on its account page`,
})

/** The service to sign out of: the only one, or if there are several, the one in use. */
async function urlOf({ signIns, findService }: Context): Promise<string> {
  const { urls, problems } = signIns.list()
  if (urls.length === 0)
    throw problems[0] ?? signInNeeded('you are not signed in', 'Sign in with "selvedge login".')
  return urls.length === 1 && problems.length === 0 ? urls[0]! : (await findService('identity')).url
}
