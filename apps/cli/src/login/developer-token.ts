import type { TokenResponse } from '@selvedge/protocol'
import { parseJws } from '@selvedge/protocol/tokens'
import type { Context } from '../context/context.ts'
import type { Login } from './login-file.ts'

/** Seconds before its end at which a token is not used any more. */
const margin = 60

/** What an answer of the token endpoint adds to a sign-in. */
export function loginOf(
  { identityUrl, clientId }: Pick<Login, 'identityUrl' | 'clientId'>,
  { refresh_token: refreshToken = '', id_token: idToken = '', scope }: TokenResponse,
): Login {
  const idTokenEndsAt = Number(parseJws(idToken).payload.exp)
  return { identityUrl, clientId, scope, refreshToken, idToken, idTokenEndsAt }
}

/** A developer ID token of the sign-in: the one at hand while it is good, else a fresh one. */
export async function developerTokenOf(
  { loginFile, identityAt, now }: Context,
  login: Login,
): Promise<string> {
  if (login.idTokenEndsAt - margin > now()) return login.idToken
  const { clientId, refreshToken, identityUrl } = login
  const answer = await identityAt(identityUrl).refresh({ clientId, refreshToken })
  const fresh = loginOf(login, answer)
  loginFile.write(fresh)
  return fresh.idToken
}
