/** The rules by which a project trusts the ID tokens of an issuer: its URL, audiences, and conditions on claims. */
import { describeValue } from './checks/header.ts'
import type { JsonObject } from './jws.ts'
import { nonEmpty } from './profiles.ts'

/** One claim and what it must be: a whole value, or with `*` as its last character the beginning of one. */
export interface TrustCondition {
  readonly claim: string
  readonly value: string
}

/** Limits of one rule, and of a project. Lengths are in characters. */
export const trustLimits = {
  issuerLength: 255,
  audiences: 5,
  audienceLength: 255,
  conditions: 10,
  claimLength: 100,
  valueLength: 512,
} as const

/** Claims that each token is checked for anyway, by other rules than these. */
const fixedClaims = ['iss', 'aud', 'exp', 'iat', 'nbf']

/**
 * What is wrong with the URL of an issuer; undefined if nothing is. Tokens name it exactly like this: with or without a slash at
 * its end, with the same case.
 */
export function issuerUrlProblem(text: string): string | undefined {
  const url = text.length <= trustLimits.issuerLength && URL.canParse(text) ? new URL(text) : undefined
  if (!url) return `it is not a URL of at most ${trustLimits.issuerLength} characters`
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it does not begin with https://'
  if (text.includes('@')) return 'it contains a user name'
  if (text.includes('?') || text.includes('#')) return 'it has a query or a fragment'
  if (url.href !== text && url.href !== `${text}/`)
    return `it is not written in the usual form, which is ${JSON.stringify(url.href)}`
  return undefined
}

/** Splits `claim=value` at its first `=`; undefined without one. */
export function splitCondition(text: string): TrustCondition | undefined {
  const at = text.indexOf('=')
  return at === -1 ? undefined : { claim: text.slice(0, at), value: text.slice(at + 1) }
}

/** What is wrong with a condition; undefined if nothing is. */
export function conditionProblem({ claim, value }: TrustCondition): string | undefined {
  if (claim === '' || claim.length > trustLimits.claimLength)
    return `the name of a claim has 1 to ${trustLimits.claimLength} characters`
  if (fixedClaims.includes(claim))
    return `the claim "${claim}" is checked for every token; state another claim`
  if (value === '' || value.length > trustLimits.valueLength)
    return `the value of a condition has 1 to ${trustLimits.valueLength} characters`
  if (/\p{Cc}/u.test(claim + value)) return 'a condition has no control characters'
  if (value === '*') return `${claim}=* would accept every value; state at least the beginning of one`
  if (value.slice(0, -1).includes('*'))
    return `in ${JSON.stringify(value)}, the "*" is not at the end: a condition is a whole value, or the beginning of one`
  return undefined
}

/**
 * A warning about a condition with a `*` after a letter, digit, hyphen or underscore: `repo:org*` accepts `repo:org-evil/…`, too.
 * Undefined if it is not of that kind.
 */
export function conditionWarning({ claim, value }: TrustCondition): string | undefined {
  if (!/[\p{L}\p{N}_-]\*$/u.test(value)) return undefined
  const start = value.slice(0, -1)
  return `${claim}=${value} also accepts "${start}-evil/…"; end it with a separator, such as "${start}/*", if you mean one name`
}

/** Whether claims have what a condition states. Only members of the token's own object count, and texts, numbers, booleans. */
export function meetsCondition(claims: JsonObject, { claim, value }: TrustCondition): boolean {
  if (!Object.hasOwn(claims, claim)) return false
  const found = claims[claim]
  const isOne = (each: unknown): boolean =>
    typeof each === 'string'
      ? value.endsWith('*')
        ? each.startsWith(value.slice(0, -1))
        : each === value
      : (typeof each === 'number' || typeof each === 'boolean') && String(each) === value
  // A list, such as that of groups, has the value among its texts.
  return Array.isArray(found) ? found.some((each) => typeof each === 'string' && isOne(each)) : isOne(found)
}

/**
 * What is wrong with the audience of a token; undefined if nothing is. A token for others, too, must name the audience of the rule
 * as its `azp` (OpenID Connect Core § 3.1.3.7), unless the rule states another `azp`.
 *
 * @param allowed audiences of the rule
 */
export function audienceProblem(
  { aud, azp }: JsonObject,
  allowed: readonly string[],
  conditions: readonly TrustCondition[],
): string | undefined {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!audiences.every(nonEmpty)) return `claim "aud" is ${describeValue(aud)}, not a text or a list of texts`
  if (!audiences.some((each) => allowed.includes(each)))
    return `claim "aud" is ${describeValue(aud)}; the rule needs ${allowed.map(describeValue).join(' or ')}`
  const isForOthers = audiences.some((each) => !allowed.includes(each))
  const isStated = conditions.some(({ claim, value }) => claim === 'azp' && !value.endsWith('*'))
  if (!isForOthers || isStated || (typeof azp === 'string' && allowed.includes(azp))) return undefined
  return `claim "aud" has other audiences, too, and claim "azp" is ${describeValue(azp)}, not one of the rule`
}

/** The first condition that claims do not meet, as a text with the value that was found; undefined if they meet all. */
export function conditionsProblem(
  claims: JsonObject,
  conditions: readonly TrustCondition[],
): string | undefined {
  const missed = conditions.find((each) => !meetsCondition(claims, each))
  if (!missed) return undefined
  const { claim, value } = missed
  const found = Object.hasOwn(claims, claim) ? describeValue(claims[claim]) : 'missing'
  return `claim "${claim}" is ${found}; the rule needs ${describeValue(value)}`
}
