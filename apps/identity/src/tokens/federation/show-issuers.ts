/** The rules of projects as people see them: with the state of the keys and the subjects of accepted tokens. */
import { conditionWarning } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import type { FederatedSubjects } from '../../registry/projects/federated-subjects.ts'
import type { TrustedIssuer, TrustedIssuers } from '../../registry/projects/issuers.ts'
import type { IssuerKeys } from './issuer-keys.ts'

export interface IssuerParts {
  readonly trustedIssuers: TrustedIssuers
  readonly federatedSubjects: FederatedSubjects
  readonly issuerKeys: IssuerKeys
}

/** A rule without subjects, such as a new one. */
export const showIssuer = async ({ notBefore, ...rule }: TrustedIssuer, issuerKeys: IssuerKeys) => ({
  ...rule,
  audiences: [...rule.audiences],
  conditions: [...rule.conditions],
  scopes: [...rule.scopes],
  algorithms: [...rule.algorithms],
  revokedAt: notBefore === 0 ? null : isoTime(notBefore * 1000),
  warnings: rule.conditions.flatMap((each) => conditionWarning(each) ?? []),
  keys: await issuerKeys.show(rule),
  subjects: [] as { subject: string; email: string | null; lastUsedAt: string | null }[],
})

/** @param clientId absent: the rules of every project */
export async function showIssuers(parts: IssuerParts, clientId?: string) {
  const rules = await parts.trustedIssuers.list(clientId)
  const subjects = await parts.federatedSubjects.list(clientId)
  const shown = []
  for (const rule of rules)
    shown.push({
      ...(await showIssuer(rule, parts.issuerKeys)),
      subjects: subjects
        .filter(({ issuerId }) => issuerId === rule.issuerId)
        .map(({ issuerId: _, ...subject }) => subject),
    })
  return shown
}
