/** Which WebSockets count as authenticated: those with a call that proved a token, until that token is not valid any more. */
import type { TokenAccess } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import type { CallContext, RpcConnection } from '@selvedge/service-kit/http'
import type { Callers } from '../device/tokens/callers.ts'
import { callerOf } from './caller.ts'

type Authorize = (
  token: string,
  access: TokenAccess,
  context: CallContext,
  use: string,
) => Promise<AccessClaims>

/** @returns checks the token of a call, and notes that the connection of the call proved it */
export function createConnectionTokens({
  authorize,
  expectStillValid,
  lasting,
}: Pick<Callers, 'authorize' | 'expectStillValid' | 'lasting'>): Authorize {
  /** The ID of the token that a connection proved last, and what ends watching it. */
  const proved = new WeakMap<RpcConnection, { readonly jti: string; readonly forget: () => void }>()

  return async (token, access, context, use) => {
    const claims = await authorize(token, access, context, use)
    const { connection } = context
    if (!connection || proved.get(connection)?.jti === claims.jti) return claims
    proved.get(connection)?.forget()
    const unwatch = lasting.watch({
      expectAllowed: () => expectStillValid(claims, access),
      verifyAgain: () => authorize(token, access, context, use),
      end() {
        proved.get(connection)?.forget()
        proved.delete(connection)
        connection.setCaller(undefined)
      },
    })
    const unlisten = connection.onEnd(unwatch)
    const forget = () => {
      unwatch()
      unlisten()
    }
    proved.set(connection, { jti: claims.jti, forget })
    connection.setCaller(callerOf(claims))
    return claims
  }
}
