/**
 * Reads an authorization request (RFC 6749 § 4.1.1, OpenID Connect Core 1.0 § 3.1.2.1), as a query or as a pushed request. It is
 * read again at each step, so nothing of a stranger's request is stored.
 */
import { OAuthError, requestUriPrefix } from '@selvedge/protocol'
import { appIdProfile, type EdgeIdClaims, edgeAudience, tokenOAuthError } from '@selvedge/protocol/tokens'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import { isRegistered } from '../../registry/projects/app-addresses.ts'
import type { Project, Projects } from '../../registry/projects/projects.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import type { PushedRequests } from '../../registry/sign-ins/pushed-requests.ts'
import { checkClientActive } from '../checks/client-active.ts'
import { checkEdgeToken } from '../checks/edge-token.ts'
import { checkNodeAllowed } from '../checks/node-allowed.ts'
import { checkEdgeNotRevoked, checkForeignNotRevoked } from '../checks/not-revoked.ts'
import { checkResourceAllowed } from '../checks/resource-allowed.ts'
import { checkScopeAllowed } from '../checks/scope-allowed.ts'
import { parseForm, required } from '../grants/form.ts'
import type { Trust } from '../trust/trust.ts'
import { type Parameters, readParameters, readState } from './parameters.ts'
import { RefusedRequest, type ReturnAddress } from './refused-request.ts'

/** A request whose parameters were all checked. The person is not checked yet. */
export interface AuthorizationRequest extends Parameters, ReturnAddress {
  readonly project: Project
  readonly scope: string
  readonly audience: string | string[]
  /** The node that the tokens are for; undefined: for a person alone. */
  readonly node: EdgeIdClaims | undefined
  /** The person that the app expects, from its `id_token_hint`; undefined: any. */
  readonly expectedPersonId: string | undefined
  /** Set if it was pushed. */
  readonly requestUri: string | undefined
}

export interface ReadRequestParts {
  readonly issuer: () => string
  readonly projects: Projects
  readonly nodes: Nodes
  readonly revocations: Revocations
  readonly pushedRequests: Pick<PushedRequests, 'find'>
  /** Trusts this service only. */
  readonly verifier: TokenVerifier
  /** Trusts the clouds of the tenant. */
  readonly edgeVerifier: TokenVerifier
  readonly trust: Pick<Trust, 'foreignReasonAgainst'>
}

/** @throws RefusedRequest */
export type ReadRequest = (query: string) => Promise<AuthorizationRequest>

type Form = ReadonlyMap<string, string>

export function createReadRequest(parts: ReadRequestParts): ReadRequest {
  /** The parameters: those of the query, or those that were pushed (RFC 9126 § 4). */
  async function formOf(query: string): Promise<{ form: Form; requestUri: string | undefined }> {
    const form = parseForm(query, 'ignored')
    const requestUri = form.get('request_uri')
    if (requestUri === undefined) return { form, requestUri }
    if (!requestUri.startsWith(requestUriPrefix))
      throw new OAuthError('request_uri_not_supported', '"request_uri" is not one that /par has returned')
    const pushed = await parts.pushedRequests.find(requestUri, required(form, 'client_id'))
    if (pushed === undefined)
      throw new OAuthError(
        'invalid_request_uri',
        'the request has expired, was used, or is of another client; start again in the app',
      )
    return { form: parseForm(pushed, 'ignored'), requestUri }
  }

  async function destinationOf(form: Form): Promise<{ project: Project; returnTo: ReturnAddress }> {
    const project = await checkClientActive(parts.projects, required(form, 'client_id'))
    const redirectUri = required(form, 'redirect_uri')
    if (!isRegistered(redirectUri, project.redirectUris, project.appType))
      throw new OAuthError(
        'invalid_request',
        'the redirect_uri is not exactly one of the redirect URIs of the project',
      )
    return { project, returnTo: { redirectUri, state: readState(form) } }
  }

  async function nodeOf(token: string | undefined): Promise<EdgeIdClaims | undefined> {
    if (token === undefined) return undefined
    const edge = await checkEdgeToken(parts.edgeVerifier, token, parts.issuer())
    checkEdgeNotRevoked(parts.revocations, edge)
    await checkForeignNotRevoked(parts.trust, edge, 'edge ID token')
    await checkNodeAllowed(parts.nodes, edge, parts.issuer())
    return edge
  }

  /** The person of an ID token that the app has, expired or not (OpenID Connect Core 1.0 § 3.1.2.1). */
  async function expectedOf(hint: string | undefined, { clientId }: Project): Promise<string | undefined> {
    if (hint === undefined) return undefined
    return (await parts.verifier.verifyEnded(hint, appIdProfile, clientId)).sub
  }

  async function contentOf(form: Form, project: Project) {
    const parameters = readParameters(form)
    const scope = checkScopeAllowed(project, form.get('scope') ?? 'openid')
    const node = await nodeOf(form.get('edge_id_token'))
    return {
      ...parameters,
      // The project accepts no proofs, so its codes cannot be bound either.
      jkt: project.dpop === 'off' ? '' : parameters.jkt,
      scope: checkNodeGiven(scope, node),
      audience: audienceOf(project, node, form.get('resource'), parts.issuer()),
      node,
      expectedPersonId: await expectedOf(form.get('id_token_hint'), project),
    }
  }

  return async (query) => {
    let returnTo: ReturnAddress | undefined
    try {
      const { form, requestUri } = await formOf(query)
      const destination = await destinationOf(form)
      const { project } = destination
      returnTo = destination.returnTo
      return { project, ...returnTo, ...(await contentOf(form, project)), requestUri }
    } catch (cause) {
      const error = tokenOAuthError(cause, 'invalid_request')
      throw error instanceof OAuthError ? new RefusedRequest(error, returnTo) : error
    }
  }
}

/** Scopes of the edge are for one node: without one nothing would accept the token. @throws OAuthError `invalid_scope` */
function checkNodeGiven(scope: string, node: EdgeIdClaims | undefined): string {
  const first = scope.split(' ').find((each) => each.startsWith('edge:'))
  if (node || first === undefined) return scope
  throw new OAuthError(
    'invalid_scope',
    `the scope "${first}" is for one device: send the edge ID token of the device as "edge_id_token"`,
  )
}

/** Without a node the token is for this service itself, and for a resource of the project if the app wants one (RFC 8707). */
function audienceOf(
  project: Project,
  node: EdgeIdClaims | undefined,
  resource: string | undefined,
  issuer: string,
): string | string[] {
  if (node) return checkResourceAllowed(project, resource)
  if (resource === undefined || resource === issuer) return issuer
  if (resource === edgeAudience)
    throw new OAuthError('invalid_target', 'the resource is for one device: send its "edge_id_token"')
  const [, allowed] = checkResourceAllowed(project, resource)
  return [issuer, allowed!]
}
