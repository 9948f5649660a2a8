import { hash } from 'node:crypto'
import { grantTypes, OAuthError } from '@selvedge/protocol'
import { hasScope } from '@selvedge/protocol/tokens'
import type { AuthorizationCodes, IssuedCode } from '../../registry/sign-ins/authorization-codes.ts'
import type { SignIn } from '../../registry/sign-ins/sign-ins.ts'
import { checkAppUsers } from '../checks/app-users.ts'
import { checkClientActive } from '../checks/client-active.ts'
import { checkNotRevoked } from '../checks/not-revoked.ts'
import { required } from './form.ts'
import type { Caller, Grant } from './grant.ts'
import { groundsOf, type RefreshParts, revocableOf, tokensOf } from './refresh-token.ts'

export interface AuthorizationCodeParts extends RefreshParts {
  readonly authorizationCodes: AuthorizationCodes
}

/** RFC 7636 § 4.1. */
const verifierShape = /^[\w.~-]{43,128}$/

/** RFC 6749 § 4.1.3, with PKCE: an app redeems the code that the browser brought. */
export function authorizationCode(parts: AuthorizationCodeParts): Grant {
  const { authorizationCodes: codes, audit } = parts

  /** Revokes the tokens of a code that was redeemed before: this caller has the verifier, too. */
  async function refuseReuse(code: IssuedCode, caller: Caller): Promise<never> {
    await codes.revoke(code)
    await audit.record({
      accountId: code.accountId,
      actor: code.clientId,
      action: 'authorization_code.reuse',
      subject: code.sid,
      address: caller.address,
      outcome: 'refused',
      detail: 'a code came a second time; what was issued for it was revoked',
    })
    throw new OAuthError(
      'invalid_grant',
      'the code was used before, so what was issued for it is revoked: another program may have a copy. Sign in again',
    )
  }

  return {
    grantType: grantTypes.authorizationCode,
    tokenError: 'invalid_grant',
    async answer(form, caller) {
      const clientId = required(form, 'client_id')
      const text = required(form, 'code')
      const redirectUri = required(form, 'redirect_uri')
      const verifier = required(form, 'code_verifier')
      const project = await checkClientActive(parts.projects, clientId)
      const jkt = await caller.prove(project.dpop)
      const code = await codes.find(text)
      checkCode(code, { clientId, redirectUri, verifier, jkt, resource: form.get('resource') })
      const signIn = signInOf(code, jkt)
      if (code.isUsed) return refuseReuse(code, caller)
      // Since the approval the person may have been removed, or have revoked this sign-in or all of them.
      checkNotRevoked(parts.revocations, revocableOf(signIn), 'sign-in')
      checkAppUsers(project, signIn)
      parts.limits.takeFor(clientId, code.accountId)
      if (!(await codes.use(text))) {
        const now = await codes.find(text)
        if (now?.isUsed) return refuseReuse(now, caller)
        throw new OAuthError('invalid_grant', unknown)
      }
      const { scope, epoch, nonce } = code
      const user = await parts.readUser(signIn)
      const given = { project, signIn, scope, jkt, epoch, nonce, user }
      const tokens = tokensOf(parts, given)
      if (!hasScope(scope, 'offline_access')) return tokens
      const refreshToken = await parts.signIns.begin(signIn)
      return { ...tokens, ...(await parts.issueLease(groundsOf(given))), refresh_token: refreshToken }
    },
  }
}

const unknown = 'the code is unknown, or has expired; sign in again'

interface Redemption {
  readonly clientId: string
  readonly redirectUri: string
  readonly verifier: string
  readonly jkt: string | undefined
  readonly resource: string | undefined
}

/**
 * Checks that the caller is the app of the request. A copy of the code alone uses nothing up and revokes nothing.
 *
 * @throws OAuthError `invalid_grant`, `invalid_target`
 */
function checkCode(code: IssuedCode | undefined, shown: Redemption): asserts code is IssuedCode {
  const refuse = (why: string): never => {
    throw new OAuthError('invalid_grant', why)
  }
  if (!code) return refuse(unknown)
  if (code.clientId !== shown.clientId) refuse('the code was issued to another client')
  if (code.redirectUri !== shown.redirectUri)
    refuse('the redirect_uri is not the one of the authorization request')
  if (!verifierShape.test(shown.verifier))
    refuse('the code_verifier does not have 43 to 128 letters, digits and "-._~"')
  if (hash('sha256', shown.verifier, 'base64url') !== code.challenge)
    refuse('the code_verifier does not fit the code_challenge of the authorization request')
  if (code.jkt !== '' && code.jkt !== shown.jkt)
    refuse('the code is bound to a key; send a DPoP proof of that key')
  if (shown.resource !== undefined && ![code.audience].flat().includes(shown.resource))
    throw new OAuthError('invalid_target', 'the resource is not one of the authorization request')
}

/** The sign-in that a code becomes. */
function signInOf(code: IssuedCode, jkt: string | undefined): SignIn {
  const { sid, clientId, scope, audience, nodeId, accountId, personId, email, authTime, described, epoch } =
    code
  const own = {
    sid,
    clientId,
    scope,
    audience,
    nodeId,
    accountId,
    personId,
    email,
    authTime,
    described,
    epoch,
  }
  return {
    ...own,
    isOfApp: true,
    origin: '',
    jkt: jkt ?? '',
    createdAt: 0,
    expiresAt: 0,
    lastUsedAt: 0,
  }
}
