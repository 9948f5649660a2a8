import { grantTypes, OAuthError, type OAuthErrorCode } from '@selvedge/protocol'
import { hasScope } from '@selvedge/protocol/tokens'
import type { Approved, DeviceRequests, Poll } from '../../registry/sign-ins/device-requests.ts'
import type { SignIn } from '../../registry/sign-ins/sign-ins.ts'
import { checkClientActive } from '../checks/client-active.ts'
import { checkNotRevoked } from '../checks/not-revoked.ts'
import { required } from './form.ts'
import type { Grant } from './grant.ts'
import { type RefreshParts, tokensOf } from './refresh-token.ts'

export interface DeviceCodeParts extends RefreshParts {
  readonly issuer: () => string
  readonly deviceRequests: DeviceRequests
}

const refusals: Readonly<Record<Exclude<Poll['outcome'], 'approved'>, readonly [OAuthErrorCode, string]>> = {
  pending: ['authorization_pending', 'the sign-in is not approved yet'],
  too_fast: ['slow_down', 'the poll came too early; wait 5 seconds longer between polls from now on'],
  denied: ['access_denied', 'the sign-in was refused on the page'],
  ended: ['expired_token', 'the device code was used, or has ended; begin the sign-in again'],
  unknown: ['invalid_grant', 'the device code is unknown, or was issued to another client'],
}

/** RFC 8628 § 3.4: a terminal polls whether a person has approved its sign-in. */
export function deviceCode(parts: DeviceCodeParts): Grant {
  return {
    grantType: grantTypes.deviceCode,
    tokenError: 'invalid_grant',
    async answer(form, caller) {
      const clientId = required(form, 'client_id')
      const code = required(form, 'device_code')
      const project = await checkClientActive(parts.projects, clientId)
      const jkt = await caller.prove(project.dpop)
      const poll = await parts.deviceRequests.poll(code, clientId)
      if (poll.outcome !== 'approved') {
        const [error, why] = refusals[poll.outcome]
        throw new OAuthError(error, why)
      }
      const { approved } = poll
      if (approved.jkt !== '' && approved.jkt !== jkt)
        throw new OAuthError(
          'invalid_grant',
          'the device code is bound to a key; send a DPoP proof of that key',
        )
      const signIn = signInOf(approved, parts.issuer(), jkt)
      const { sid, accountId } = signIn
      const { epoch } = approved
      // Since the approval the person may have been removed, or have revoked this sign-in or all of them.
      const claims = { jti: sid, iat: 0, epoch, account_id: accountId, client_id: clientId }
      checkNotRevoked(parts.revocations, claims, 'sign-in')
      parts.limits.takeFor(clientId, accountId)
      const lasts = hasScope(approved.scope, 'offline_access')
      return {
        ...tokensOf(parts, { project, signIn, scope: approved.scope, jkt, epoch }),
        ...(lasts && { refresh_token: await parts.signIns.begin(signIn) }),
      }
    },
  }
}

/** The sign-in that an approved request becomes: of a person, for this service itself. */
function signInOf(approved: Approved, issuer: string, jkt: string | undefined): SignIn {
  const { sid, clientId, scope, accountId, personId, email, authTime, userAgent, address, epoch } = approved
  const described = `${userAgent || 'a terminal'} from ${address}`
  const own = { sid, clientId, scope, accountId, personId, email, authTime, described }
  return {
    ...own,
    nodeId: '',
    origin: '',
    audience: issuer,
    jkt: jkt ?? '',
    epoch,
    createdAt: 0,
    expiresAt: 0,
    lastUsedAt: 0,
  }
}
