import { OAuthError } from '@selvedge/protocol'

type Form = ReadonlyMap<string, string>

/**
 * A form with its `client_id`. Clients of this service are public (RFC 6749 § 2.1). A library that always sends HTTP Basic
 * authentication names its client there, with an empty secret (§ 2.3.1). A secret that is not empty is a mistake, and may belong to another service.
 *
 * @param authorization value of the header
 * @throws OAuthError `invalid_client` for any other header, `invalid_request` if header and form name different clients
 */
export function withNamedClient(form: Form, authorization: string | undefined): Form {
  if (authorization === undefined) return form
  const clientId = readEmptySecret(authorization)
  if (clientId === undefined)
    throw new OAuthError(
      'invalid_client',
      'projects have no secret: send client_id in the form, and no Authorization header',
    )
  if ((form.get('client_id') ?? clientId) !== clientId)
    throw new OAuthError(
      'invalid_request',
      'client_id in the form is not the one in the Authorization header',
    )
  return new Map([...form, ['client_id', clientId]])
}

/** @returns the user name of HTTP Basic authentication (RFC 7617) with an empty password; undefined for anything else */
function readEmptySecret(authorization: string): string | undefined {
  const [, encoded] = /^basic ([A-Za-z0-9+/]{1,400}={0,2})$/i.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  const [, clientId] = /^([\w.~-]+):$/.exec(Buffer.from(encoded, 'base64').toString('latin1')) ?? []
  return clientId
}
