/** The rules by which a company's provider gives its people a role in an account. */
import type { JsonObject } from './jws.ts'
import { conditionProblem, meetsCondition, type TrustCondition } from './trust-rules.ts'

/** One claim, what it must be, and the role that it gives. */
export interface CompanyRule extends TrustCondition {
  readonly role: 'owner' | 'member'
}

/** Limits of one company. Lengths are in characters. */
export const companyLimits = { domainLength: 253, rules: 20, clientIdLength: 255, secretLength: 512 } as const

/** What is wrong with a domain; undefined if nothing is. It is written as in e-mail addresses, in lower case (RFC 5321 § 4.1.2). */
export function domainProblem(domain: string): string | undefined {
  if (domain.length > companyLimits.domainLength)
    return `it has more than ${companyLimits.domainLength} characters`
  if (!/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(domain))
    return 'it is not a domain name in lower case such as example.com; one with other letters is written with xn--'
  return undefined
}

/** The domain of an e-mail address or of a domain itself, in lower case. */
export const domainOf = (address: string): string =>
  address
    .slice(address.lastIndexOf('@') + 1)
    .trim()
    .toLowerCase()

/** What is wrong with rules; undefined if nothing is. */
export const rulesProblem = (rules: readonly CompanyRule[]): string | undefined =>
  rules.map(conditionProblem).find((each) => each !== undefined)

/** The role that claims give: the stronger one of all rules that fit; undefined without one. */
export function roleOf(rules: readonly CompanyRule[], claims: JsonObject): CompanyRule['role'] | undefined {
  const fitting = rules.filter((rule) => meetsCondition(claims, rule))
  return fitting.find(({ role }) => role === 'owner')?.role ?? fitting[0]?.role
}
