/** Every grant of the token endpoint. A grant that is not listed here is `unsupported_grant_type`. */
import type { Grant } from './grant.ts'
import { idTokenSignin } from './id-token-signin.ts'
import { tokenExchange } from './token-exchange.ts'

export const grants: readonly Grant[] = [idTokenSignin, tokenExchange]
