import { OAuthError } from '@selvedge/protocol'
import type { LogoutRequest } from '@selvedge/protocol/console'
import { onOneLine } from '@selvedge/protocol/redaction'
import { type AppIdClaims, appIdProfile, parseJws, TokenError } from '@selvedge/protocol/tokens'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { Sessions } from '../../../registry/credentials/sessions.ts'
import { isRegistered } from '../../../registry/projects/app-addresses.ts'
import type { Project, Projects } from '../../../registry/projects/projects.ts'
import type { Revocations } from '../../../registry/revocation/revocations.ts'
import type { AppConsents } from '../../../registry/sign-ins/app-consents.ts'
import type { AuthorizationCodes } from '../../../registry/sign-ins/authorization-codes.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import { parseForm } from '../../../tokens/grants/form.ts'
import type { ConsoleContext, ConsoleHandlers } from '../context.ts'

export interface LogoutParts {
  readonly projects: Projects
  readonly sessions: Sessions
  readonly revocations: Pick<Revocations, 'isRevoked'>
  readonly authorizationCodes: Pick<AuthorizationCodes, 'revoke'>
  readonly appConsents: AppConsents
  readonly audit: Audit
  /** Trusts this service only. */
  readonly verifier: TokenVerifier
}

interface Logout extends LogoutRequest {
  /** Of the ID token that the app sent; undefined without one. */
  readonly claims: AppIdClaims | undefined
}

/** OpenID Connect RP-Initiated Logout 1.0: a person confirms it, so no other site can sign a person out. */
export function logoutHandlers(parts: LogoutParts) {
  const { projects, sessions, revocations, appConsents, audit } = parts

  /** The ID token of an app, expired or not (§ 2). @throws TokenError */
  async function claimsOf(hint: string | undefined): Promise<AppIdClaims | undefined> {
    if (hint === undefined) return undefined
    const { aud } = parseJws(hint).payload
    return parts.verifier.verifyEnded(hint, appIdProfile, typeof aud === 'string' ? aud : '')
  }

  async function read(query: string): Promise<Logout> {
    const form = parseForm(query, 'ignored')
    const claims = await claimsOf(form.get('id_token_hint'))
    const clientId = (claims?.aud as string | undefined) ?? form.get('client_id')
    if (clientId !== (form.get('client_id') ?? clientId))
      throw new OAuthError('invalid_request', 'the ID token is of another app')
    const project = clientId === undefined ? undefined : await projects.find(clientId)
    return {
      appName: onOneLine(project?.name ?? ''),
      returnTo: returnToOf(project, form.get('post_logout_redirect_uri'), form.get('state')),
      obstacle: null,
      claims,
    }
  }

  /** A wrong request redirects no browser: the person sees the reason. */
  async function readOrRefuse(query: string): Promise<Logout> {
    try {
      return await read(query)
    } catch (cause) {
      if (!(cause instanceof OAuthError || cause instanceof TokenError)) throw cause
      return { appName: '', returnTo: null, obstacle: cause.message, claims: undefined }
    }
  }

  /** Ends what the app got for this sign-in: its refresh token, and its access tokens. */
  async function endSignIn(
    { sid, sub, aud, account_id: accountId, email }: AppIdClaims,
    { address }: ConsoleContext,
  ) {
    const clientId = aud as string
    await appConsents.forget(sub, clientId)
    if (revocations.isRevoked(sid)) return
    await parts.authorizationCodes.revoke({ sid })
    const entry = { accountId, actor: email, action: 'app.logout', subject: sid, address, detail: clientId }
    await audit.record({ ...entry, outcome: 'ok' })
  }

  return {
    'logout.look': async ({ query }) => shown(await readOrRefuse(query)),
    'logout.finish': async ({ query, everywhere }, _caller, context) => {
      const logout = await readOrRefuse(query)
      if (logout.obstacle !== null) return shown(logout)
      if (logout.claims) await endSignIn(logout.claims, context)
      const { viewer } = context
      if (everywhere && viewer) {
        await sessions.end(viewer.person.personId, viewer.session.sessionId)
        context.newSession = null
      }
      return shown(logout)
    },
  } satisfies ConsoleHandlers
}

const shown = ({ claims: _, ...request }: Logout): LogoutRequest => request

/** @throws OAuthError `invalid_request` */
function returnToOf(
  project: Project | undefined,
  uri: string | undefined,
  state: string | undefined,
): string | null {
  if (uri === undefined) return null
  if (!project?.active || !isRegistered(uri, project.postLogoutRedirectUris, project.appType))
    throw new OAuthError(
      'invalid_request',
      'the post_logout_redirect_uri is not exactly one of the project; send the ID token or the client_id with it',
    )
  if (state === undefined) return uri
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams({ state })}`
}
