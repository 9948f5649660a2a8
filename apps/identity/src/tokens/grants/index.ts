/** Every grant of the token endpoint. A grant that is not listed here is `unsupported_grant_type`. */
import { type AuthorizationCodeParts, authorizationCode } from './authorization-code.ts'
import { type DeviceCodeParts, deviceCode } from './device-code.ts'
import type { Exchange, Grant } from './grant.ts'
import { idTokenSignin } from './id-token-signin.ts'
import { refreshToken } from './refresh-token.ts'
import { tokenExchange } from './token-exchange.ts'

export const createGrants = (
  exchange: Exchange,
  parts: DeviceCodeParts & AuthorizationCodeParts,
): readonly Grant[] => [
  idTokenSignin(exchange),
  tokenExchange(exchange),
  refreshToken(parts),
  deviceCode(parts),
  authorizationCode(parts),
]
