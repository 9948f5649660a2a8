/** What happens next with an authorization request, by who sits at the browser (OpenID Connect Core 1.0 §§ 3.1.2.3 and 3.1.2.4). */
import type { OAuthErrorCode } from '@selvedge/protocol'
import { isClaimed } from '../../registry/projects/app-addresses.ts'
import type { AuthorizationRequest } from './request.ts'

/** The person at the browser, and what the person may do. Times are Unix milliseconds. */
export interface Standing {
  readonly personId: string
  /** Of the sign-in to the console. */
  readonly authTime: number
  /** Why the person cannot approve the request; undefined if the person can. */
  readonly obstacle: string | undefined
  /** Whether the person has approved at least this much for the app in this session. */
  readonly isRemembered: boolean
}

export type NextStep =
  | 'sign_in'
  | 'consent'
  | 'grant'
  | Extract<OAuthErrorCode, `${string}_required` | 'access_denied'>

type Asked = Pick<AuthorizationRequest, 'prompts' | 'maxAgeSeconds' | 'expectedPersonId' | 'redirectUri'>

/**
 * @param standing undefined: no person is signed in
 * @param seenAt when the browser first came with this request
 */
export function nextStep(
  request: Asked,
  standing: Standing | undefined,
  { now, seenAt }: { readonly now: number; readonly seenAt: number },
): NextStep {
  const { prompts, expectedPersonId, redirectUri } = request
  const isSilent = prompts.has('none')
  if (!standing) return isSilent ? 'login_required' : 'sign_in'
  const isExpected = expectedPersonId === undefined || expectedPersonId === standing.personId
  if (isSilent && (!isExpected || !isFresh(request, standing, { now, seenAt }))) return 'login_required'
  if (isSilent && standing.obstacle !== undefined) return 'access_denied'
  // Another program of the device can have the scheme or the port of an app: each time a person decides (RFC 8252 § 8.6).
  const needsNoPerson =
    standing.isRemembered && standing.obstacle === undefined && isExpected && isClaimed(redirectUri)
  if (isSilent) return needsNoPerson ? 'grant' : 'consent_required'
  return needsNoPerson && prompts.size === 0 && isFresh(request, standing, { now, seenAt })
    ? 'grant'
    : 'consent'
}

/** Whether the sign-in to the console is as young as the app wants: with prompt=login, younger than its request. */
export function isFresh(
  { prompts, maxAgeSeconds }: Pick<Asked, 'prompts' | 'maxAgeSeconds'>,
  { authTime }: Pick<Standing, 'authTime'>,
  { now, seenAt }: { readonly now: number; readonly seenAt: number },
): boolean {
  if (authTime >= seenAt) return true
  if (prompts.has('login')) return false
  return maxAgeSeconds === undefined || now - authTime <= maxAgeSeconds * 1000
}
