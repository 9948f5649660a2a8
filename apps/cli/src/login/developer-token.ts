import type { TokenResponse } from '@selvedge/protocol'
import { parseJws } from '@selvedge/protocol/tokens'
import type { Context } from '../context/context.ts'
import type { Login } from './sign-ins.ts'

/** A token that expires within this many seconds is refreshed first. */
const marginSeconds = 60

/** What an answer of the token endpoint adds to a sign-in. */
export function loginOf(
  { identityUrl, clientId }: Pick<Login, 'identityUrl' | 'clientId'>,
  { refresh_token: refreshToken = '', id_token: idToken = '', scope }: TokenResponse,
): Login {
  const idTokenEndsAt = Number(parseJws(idToken).payload.exp)
  return { identityUrl, clientId, scope, refreshToken, idToken, idTokenEndsAt }
}

/** A developer ID token of the sign-in: the stored one while it is valid, else a new one of the service that issued it. */
export async function developerTokenOf({ signIns, identityAt, now }: Context, login: Login): Promise<string> {
  if (login.idTokenEndsAt - marginSeconds > now()) return login.idToken
  const { clientId, refreshToken, identityUrl } = login
  const answer = await identityAt(identityUrl).refresh({ clientId, refreshToken })
  const fresh = loginOf(login, answer)
  signIns.write(fresh)
  return fresh.idToken
}
