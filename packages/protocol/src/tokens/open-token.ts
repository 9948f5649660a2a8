import { checkHeader } from './checks/header.ts'
import { type Jws, type KnownHeaders, parseJws, TokenError } from './jws.ts'
import { describeKind, describeNeeded, typeOf } from './kinds.ts'
import type { BaseClaims, TokenProfile } from './profiles.ts'

export interface OpenedToken {
  readonly jws: Jws
  readonly iss: string
  readonly kid: string
}

/**
 * Reads a token up to its header, before a key is looked up. A token of another kind is refused with the name of its kind.
 *
 * @throws TokenError
 *
 * @example
 * ```ts
 * import { accessProfile, openToken } from '@selvedge/protocol/tokens'
 *
 * const { iss, kid } = openToken(process.env.ACCESS_TOKEN!, accessProfile)
 * console.log(iss, kid)
 * ```
 */
export function openToken(
  token: string,
  profile: Pick<TokenProfile<BaseClaims>, 'label' | 'typ' | 'maxLength' | 'algorithms' | 'isForeign'>,
  known?: KnownHeaders,
): OpenedToken {
  try {
    const jws = parseJws(token, known, profile.maxLength)
    return { jws, ...checkHeader(jws, profile) }
  } catch (cause) {
    if (!(cause instanceof TokenError)) throw cause
    const found = typeOf(token) === profile.typ ? undefined : describeKind(token)
    if (found !== undefined)
      throw new TokenError(cause.reason, '', { found, typ: profile.typ, needed: describeNeeded(profile.typ) })
    // A request may carry two tokens: the error names the token that it is about.
    throw new TokenError(cause.reason, cause.message.replaceAll('the token', `the ${profile.label}`))
  }
}
