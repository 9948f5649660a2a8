import { command } from '../command.ts'
import { UsageError } from '../failure.ts'

export const logout = command({
  path: ['logout'],
  summary: 'End the sign-in of this machine: its tokens are revoked and its file is removed.',
  run: async ({ loginFile, identityAt }) => {
    const login = loginFile.read()
    if (!login) throw new UsageError('nobody is signed in here', 'Sign in with "selvedge login".')
    const { identityUrl, clientId, refreshToken: token } = login
    const revoked = await identityAt(identityUrl)
      .revoke({ clientId, token })
      .then(
        () => true,
        () => false,
      )
    loginFile.remove()
    return { identityUrl, revoked }
  },
  human: ({ identityUrl, revoked }) =>
    revoked
      ? 'signed out'
      : `signed out here; ${identityUrl} could not be told: revoke the sign-in on the account page of its console`,
})
