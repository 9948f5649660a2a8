/** This service as a client of the provider of a company: the library with its configuration. */
import { randomUUID } from 'node:crypto'
import { type Clock, seconds, systemClock } from '@selvedge/service-kit/clock'
import { createGuardedFetch } from '@selvedge/service-kit/http'
import type { Outbound } from '@selvedge/service-kit/network'
import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from 'openid-client'
import type { SigningKeys } from '../../registry/keys/signing-keys.ts'
import type { Companies, Company } from '../../registry/people/companies.ts'
import type { ReadMetadata } from './metadata.ts'

const load = () => import('./openid-client.lazy.ts')
export type OpenIdLibrary = Awaited<ReturnType<typeof load>>

export interface CompanyClient {
  readonly library: OpenIdLibrary
  readonly config: Configuration
}

export interface CompanyClientParts {
  readonly clock: Clock
  readonly network: Outbound
  readonly keys: Pick<SigningKeys, 'sign'>
  readonly companies: Pick<Companies, 'secretOf'>
  readonly readMetadata: ReadMetadata
}

/** Seconds: what clocks may differ by, and for which a client assertion is valid. */
const leewaySeconds = 60
/** Seconds that a request of the library may take; the guarded fetch has a shorter limit of its own. */
const timeoutSeconds = 10

/** @returns (the function) rejects with an Error if the metadata of the provider cannot be used */
export function createCompanyClient(parts: CompanyClientParts): (company: Company) => Promise<CompanyClient> {
  const { network: outbound } = parts
  const fetches = {
    public: createGuardedFetch({ allowsPrivate: false, outbound }),
    private: createGuardedFetch({ allowsPrivate: true, outbound }),
  }

  return async (company) => {
    const { clientId, allowsPrivate } = company
    const [library, metadata] = await Promise.all([load(), parts.readMetadata(company)])
    const clientMetadata = {
      // All replicas have the time of the database.
      [library.clockSkew]: seconds(parts.clock) - seconds(systemClock),
      [library.clockTolerance]: leewaySeconds,
    }
    const authenticate = await authOf(company, metadata, library, parts)
    const config = new library.Configuration(
      structuredClone(metadata) as ServerMetadata,
      clientId,
      clientMetadata,
      authenticate,
    )
    config.timeout = timeoutSeconds
    config[library.customFetch] = (allowsPrivate ? fetches.private : fetches.public) as CustomFetch
    // Plain HTTP is for a provider on this machine, which the guarded fetch enforces.
    if (allowsPrivate) library.allowInsecureRequests(config)
    return { library, config }
  }
}

async function authOf(
  { companyId, clientId, clientAuth, issuer }: Company,
  metadata: Readonly<Record<string, unknown>>,
  library: OpenIdLibrary,
  { companies, keys, clock }: CompanyClientParts,
): Promise<ClientAuth> {
  if (clientAuth === 'none') return library.None()
  if (clientAuth === 'client_secret') {
    const secret = await companies.secretOf(companyId)
    const methods = metadata.token_endpoint_auth_methods_supported
    // RFC 8414 § 2: Basic is what a server supports that states nothing.
    const isPost = Array.isArray(methods) && !methods.includes('client_secret_basic')
    return isPost ? library.ClientSecretPost(secret) : library.ClientSecretBasic(secret)
  }
  return (_server, _client, body) => {
    const iat = seconds(clock)
    const claims = {
      iss: clientId,
      sub: clientId,
      aud: issuer,
      jti: randomUUID(),
      iat,
      exp: iat + leewaySeconds,
    }
    body.set('client_id', clientId)
    body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    // Its own type: it is accepted as no token of this service.
    body.set('client_assertion', keys.sign('client-authentication+jwt', claims))
  }
}
