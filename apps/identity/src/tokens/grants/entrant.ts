/** Who sends an ID token: a developer of this service, or a workload or person of an issuer that the project trusts. */
import { describeValue, leeway, TokenError } from '@selvedge/protocol/tokens'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { DeveloperTokens } from '../../registry/projects/developer-tokens.ts'
import type { FederatedSubjects } from '../../registry/projects/federated-subjects.ts'
import type { TrustedIssuers } from '../../registry/projects/issuers.ts'
import type { Project } from '../../registry/projects/projects.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import { checkDeveloperToken } from '../checks/developer-token.ts'
import { checkNotRevoked } from '../checks/not-revoked.ts'
import { checkScopeApproved } from '../checks/scope-approved.ts'
import type { Federation } from '../federation/federation.ts'

interface Entrant {
  readonly accountId: string
  /** Who signed in at another issuer; "" for developer ID tokens and workloads. */
  readonly personId: string
  readonly email: string
  /** Unix seconds. */
  readonly authTime: number
  /** What acts for the account; undefined: the account. */
  readonly subject: string | undefined
  /** With which everything that is issued for it is revoked. */
  readonly origin: string
  /** Notes that a token was issued. */
  readonly noteUse: () => void
}

export interface EntrantParts {
  readonly issuer: () => string
  readonly developerTokens: Pick<DeveloperTokens, 'noteUse'>
  readonly revocations: Pick<Revocations, 'reasonFor'>
  /** Believes this tenant's own keys only. */
  readonly developerVerifier: TokenVerifier
  readonly trustedIssuers: Pick<TrustedIssuers, 'of'>
  readonly federatedSubjects: Pick<FederatedSubjects, 'noteUse'>
  readonly federation: Pick<Federation, 'readClaimed' | 'letIn'>
}

/** @throws TokenError | OAuthError */
export type Admit = (project: Project, token: string, scope: string) => Promise<Entrant>

export function createAdmit(parts: EntrantParts): Admit {
  const { revocations, trustedIssuers, developerTokens, federatedSubjects, federation } = parts

  async function developer({ clientId }: Project, token: string, scope: string): Promise<Entrant> {
    const claims = await checkDeveloperToken(parts.developerVerifier, token, clientId)
    checkNotRevoked(revocations, claims, 'developer ID token', clientId)
    checkScopeApproved(claims, scope)
    return {
      accountId: claims.account_id,
      personId: '',
      email: claims.email,
      authTime: claims.auth_time,
      subject: undefined,
      origin: claims.sid ?? claims.jti,
      noteUse: () => developerTokens.noteUse(claims.jti),
    }
  }

  /** The refusal of a token of an issuer that the project does not trust. */
  function explain(cause: unknown, token: string): unknown {
    const iss = cause instanceof TokenError ? federation.readClaimed(token)?.iss : undefined
    if (iss === undefined || iss === parts.issuer()) return cause
    const why = `the ID token is of the issuer ${describeValue(iss)}, which the project does not trust`
    return new TokenError('token_untrusted', why)
  }

  return async (project, token, scope) => {
    const found = trustedIssuers.of(project.clientId)
    const of = found instanceof Promise ? await found : found
    const claimed = of.rules.length === 0 ? undefined : federation.readClaimed(token)
    const isTrusted = claimed && of.rules.some(({ issuer }) => issuer === claimed.iss)
    if (!isTrusted || claimed.iss === parts.issuer()) {
      try {
        return await developer(project, token, scope)
      } catch (cause) {
        throw explain(cause, token)
      }
    }
    const { rule, claims, subject } = await federation.letIn(project, of, claimed, token, scope)
    const { accountId, clientId } = project
    // By the time of another clock: what may be from before counts as such.
    const revocable = {
      jti: subject.sid,
      iat: claims.iat - leeway,
      account_id: accountId,
      client_id: clientId,
    }
    checkNotRevoked(revocations, revocable, 'ID token')
    return {
      accountId,
      personId: subject.personId,
      email: subject.email,
      authTime: claims.auth_time ?? claims.iat,
      // The URL of an issuer has no "#": this can be split again.
      subject: rule.as === 'workload' ? `${claims.iss}#${claims.sub}` : undefined,
      origin: subject.sid,
      noteUse: () => federatedSubjects.noteUse(subject.subjectId),
    }
  }
}
