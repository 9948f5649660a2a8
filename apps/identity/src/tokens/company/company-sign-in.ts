/**
 * Sign-in with the provider of a company: authorization code with PKCE (RFC 7636), `state`, `nonce` and the `iss` of the answer (RFC 9207).
 * The `state` is a value that works once, for ten minutes, in the browser that began. PKCE verifier and nonce are derived from it with a
 * secret of this installation, so that neither is stored.
 */
import { createHmac } from 'node:crypto'
import {
  audienceProblem,
  type FederatedClaims,
  roleOf,
  signatureAlgorithms,
  TokenError,
} from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import type { OneTime } from '../../registry/credentials/one-time.ts'
import type { Companies, Company } from '../../registry/people/companies.ts'
import type { RulesVerifier } from '../federation/verify-by-rules.ts'
import type { CompanyClient } from './client.ts'
import { explainProvider, refused, unavailable } from './explain.ts'

export type CompanyPurpose = 'sign_in' | 'confirm' | 'link'

/** The browser and the person who want to sign in. */
interface CompanyVisitor {
  /** Thumbprint of the key of the browser. */
  readonly jkt: string
  readonly purpose: CompanyPurpose
  /** Of the session there is, for `confirm` and `link`; else "". */
  readonly personId: string
  /** E-mail address that the person gave, for the provider to show; "" without one. */
  readonly loginHint: string
}

/** A person who proved at the provider who it is. */
export interface CompanyProof {
  readonly company: Company
  readonly purpose: CompanyPurpose
  readonly personId: string
  readonly subject: string
  /** What the rules of the company give now; undefined: nothing. */
  readonly role: 'owner' | 'member' | undefined
  /** Address of the domain of the company that the ID token states; undefined without one. A name to show, and no proof. */
  readonly email: string | undefined
  /** Unix milliseconds; 0: the provider did not say. */
  readonly authTime: number
}

export interface CompanySignIns {
  /** What is registered at the provider, exactly. */
  redirectUri(domain: string): string
  /** @returns the URL to which the browser is sent. @throws RpcError `company_unavailable` */
  begin(company: Company, visitor: CompanyVisitor): Promise<string>
  /**
   * @param domain in the address that the browser came back to
   * @param query of that address
   * @throws RpcError `credentials_invalid`, `company_unavailable` or `busy`
   */
  finish(domain: string, query: string, jkt: string): Promise<CompanyProof>
}

export interface CompanySignInParts {
  readonly clock: Clock
  readonly oneTime: OneTime
  readonly companies: Pick<Companies, 'byId'>
  readonly client: (company: Company) => Promise<CompanyClient>
  readonly verify: RulesVerifier
  readonly secret: Buffer
  /** Where people find the console. */
  readonly consoleUrl: () => string
}

/** Seconds: for which a sign-in can be finished, and what clocks may differ by. */
const times = { lifeSeconds: 600, leewaySeconds: 60 } as const

const startAgain = 'Start again on the sign-in page, in the same browser.'

export function createCompanySignIns(parts: CompanySignInParts): CompanySignIns {
  const { clock, oneTime, secret } = parts
  const derive = (what: string, state: string): string =>
    createHmac('sha256', secret).update(`${what} ${state}`).digest('base64url')
  const redirectUri = (domain: string) => `${parts.consoleUrl()}/sign-in/${domain}/callback`

  return {
    redirectUri,
    async begin(company, { jkt, purpose, personId, loginHint }) {
      const { companyId, domain } = company
      const { library, config } = await parts.client(company).catch((cause: Error) => {
        throw unavailable(domain, cause)
      })
      const payload = { companyId, jkt, purpose, personId, begunAt: String(seconds(clock)) }
      const state = await oneTime.create('company-sign-in', payload, times.lifeSeconds)
      const url = library.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri(domain),
        response_type: 'code',
        scope: 'openid email profile',
        state,
        nonce: derive('nonce', state),
        code_challenge: await library.calculatePKCECodeChallenge(derive('verifier', state)),
        code_challenge_method: 'S256',
        ...(purpose !== 'sign_in' && { max_age: '0' }),
        ...(loginHint !== '' && { login_hint: loginHint }),
      })
      return url.href
    },
    async finish(domain, query, jkt) {
      const state = new URLSearchParams(query).getAll('state')
      const asked = state.length === 1 ? await oneTime.use('company-sign-in', state[0]!) : undefined
      const company = asked && (await parts.companies.byId(asked.companyId!))
      if (!asked || asked.jkt !== jkt || company?.domain !== domain)
        throw refused(
          'this sign-in was finished before, has expired, or began in another browser',
          startAgain,
        )
      const { library, config } = await parts.client(company).catch((cause: Error) => {
        throw unavailable(domain, cause)
      })
      try {
        const isFresh = asked.purpose !== 'sign_in'
        const answer = await library.authorizationCodeGrant(
          config,
          new URL(`${redirectUri(domain)}?${query}`),
          {
            expectedState: state[0]!,
            expectedNonce: derive('nonce', state[0]!),
            pkceCodeVerifier: derive('verifier', state[0]!),
            ...(isFresh && { maxAge: times.lifeSeconds }),
          },
        )
        const claims = await verifyClaims(company, answer.id_token!, parts)
        return {
          company,
          purpose: asked.purpose as CompanyPurpose,
          personId: asked.personId!,
          subject: claims.sub,
          role: roleOf(company.rules, claims),
          email: emailOf(claims, domain),
          authTime: authTimeOf(claims, isFresh ? Number(asked.begunAt) : 0, seconds(clock)) * 1000,
        }
      } catch (cause) {
        throw explainProvider(cause, domain, library)
      }
    },
  }
}

/** The library trusted the TLS connection (OpenID Connect Core § 3.1.3.7, item 6); the signature is checked as that of trusted issuers. */
async function verifyClaims(
  { issuer, allowsPrivate, clientId, accountId }: Company,
  idToken: string,
  { verify }: CompanySignInParts,
): Promise<FederatedClaims> {
  const rule = { issuer, allowsPrivate, algorithms: signatureAlgorithms }
  const claims = await verify([rule], idToken, accountId)
  // The verifier finds the keys by the issuer that a token names.
  const problem =
    claims.iss === issuer ? audienceProblem(claims, [clientId], []) : `claim "iss" is not ${issuer}`
  if (problem !== undefined) throw new TokenError('token_untrusted', problem)
  return claims
}

/**
 * Unix second of the authentication; 0 if the token does not say.
 *
 * @param notBefore Unix second at which a fresh one was asked for; 0: any will do
 */
function authTimeOf({ auth_time: authTime }: FederatedClaims, notBefore: number, now: number): number {
  if (authTime === undefined) return 0
  if (!Number.isSafeInteger(authTime) || authTime < 0 || authTime > now + times.leewaySeconds)
    throw new TokenError('token_untrusted', `claim "auth_time" is ${authTime}, and it is ${now} now`)
  if (authTime < notBefore - times.leewaySeconds)
    throw new TokenError(
      'token_untrusted',
      `claim "auth_time" is ${authTime}; a sign-in after ${notBefore} was asked for`,
    )
  return Math.min(authTime, now)
}

/** OpenID Connect Core § 5.1. Only addresses of the domain itself: a company states nothing about others. */
function emailOf({ email }: FederatedClaims, domain: string): string | undefined {
  if (typeof email !== 'string' || email.length > 254) return undefined
  const lower = email.toLowerCase()
  return /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9.-]+$/.test(lower) && lower.endsWith(`@${domain}`)
    ? lower
    : undefined
}
