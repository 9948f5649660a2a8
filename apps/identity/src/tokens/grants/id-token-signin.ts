import { grantTypes } from '@selvedge/protocol'
import { developerIdProfile, edgeIdProfile } from '@selvedge/protocol/tokens'
import { required } from './form.ts'
import type { Exchange, Grant } from './grant.ts'

/** The exchange in the API family's own words: developer ID token and edge ID token in, access token out. */
export const idTokenSignin = (exchange: Exchange): Grant => ({
  grantType: grantTypes.idTokenSignin,
  tokenError: 'invalid_grant',
  tokenFields: { [developerIdProfile.typ]: 'id_token', [edgeIdProfile.typ]: 'edge_id_token' },
  answer: (form, caller) =>
    exchange(
      {
        clientId: required(form, 'client_id'),
        developerToken: required(form, 'id_token'),
        edgeToken: required(form, 'edge_id_token'),
        scope: required(form, 'scope'),
        resource: form.get('resource'),
      },
      caller,
    ),
})
