import { grantTypes, OAuthError, tokenTypes } from '@selvedge/protocol'
import { developerIdProfile, edgeIdProfile } from '@selvedge/protocol/tokens'
import { required } from './form.ts'
import type { Exchange, Grant } from './grant.ts'

/** The same exchange in the words of RFC 8693: the developer is the subject, the node the actor. */
export const tokenExchange = (exchange: Exchange): Grant => ({
  grantType: grantTypes.tokenExchange,
  // § 2.2.2: a token that is not accepted for any reason is an invalid request.
  tokenError: 'invalid_request',
  tokenFields: { [developerIdProfile.typ]: 'subject_token', [edgeIdProfile.typ]: 'actor_token' },
  async answer(form, caller) {
    for (const name of ['subject_token_type', 'actor_token_type']) {
      if (required(form, name) !== tokenTypes.idToken) {
        throw new OAuthError('invalid_request', `the field "${name}" is not ${tokenTypes.idToken}`)
      }
    }
    const wanted = form.get('requested_token_type')
    if (wanted !== undefined && wanted !== tokenTypes.accessToken && wanted !== tokenTypes.jwt) {
      throw new OAuthError(
        'invalid_request',
        `the field "requested_token_type" is not ${tokenTypes.accessToken}`,
      )
    }
    const request = {
      clientId: required(form, 'client_id'),
      developerToken: required(form, 'subject_token'),
      edgeToken: required(form, 'actor_token'),
      scope: required(form, 'scope'),
      resource: form.get('resource') ?? form.get('audience'),
    }
    // § 2.2.1
    return { ...(await exchange(request, caller)), issued_token_type: tokenTypes.accessToken }
  },
})
