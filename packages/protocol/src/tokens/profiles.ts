/** The three kinds of token, and what each must hold. The checks that all of them share are in checks/. */
import { nodeIdPattern } from '../methods/values.ts'
import type { JsonObject } from './jws.ts'
import { type UserClaims, userProblem } from './users.ts'

/** The audience of every edge access token: the runtime of the node and the services that work with it. */
export const edgeAudience = 'urn:selvedge:edge'
/** The audience of the edge ID tokens that a runtime sends only to its discovery service. */
export const discoveryAudience = 'urn:selvedge:discovery'

export interface BaseClaims {
  readonly iss: string
  readonly sub: string
  readonly aud: string | readonly string[]
  readonly iat: number
  readonly exp: number
  readonly nbf?: number
  readonly jti: string
  /**
   * Number of the newest change that the identity service knew when it signed. "Revoke all" of an account, node or client
   * reaches every token with a smaller number than its own, whatever the clocks showed.
   */
  readonly epoch?: number
}

/** Made on the account page or by a sign-in from a terminal: a person's word to a project. */
export interface DeveloperIdClaims extends BaseClaims {
  readonly account_id: string
  readonly email: string
  readonly auth_time: number
  /** The sign-in that it came from; what it leads to ends with it. Absent: the token is the beginning, and its `jti` counts. */
  readonly sid?: string
  /** Scopes that the person approved; absent: whatever the project may have. */
  readonly scope?: string
}

/**
 * ID token of a person who signed in to an app (OpenID Connect Core 1.0 § 2). It is for the app alone: no endpoint accepts it in
 * place of a developer ID token.
 */
export interface AppIdClaims extends BaseClaims {
  readonly account_id: string
  readonly email: string
  readonly auth_time: number
  /** The sign-in; a logout names it, and what it led to ends with it. */
  readonly sid: string
  readonly nonce?: string
  /** § 3.1.3.6. */
  readonly at_hash: string
}

/** Edge ID token: proves the identity of a node, issued by the cloud. `sub` is the associated account, or "". */
export interface EdgeIdClaims extends BaseClaims {
  /** The node; absent in tokens of older services. */
  readonly azp?: string
  readonly node_id: string
  readonly node_name: string
  /** Thumbprint of the node's key (RFC 7800, RFC 9449 § 6.1). */
  readonly cnf: { readonly jkt: string }
  /** For the discovery service: number of the change with which a node left the account last, or was blocked. */
  readonly account_epoch?: number
}

/** RFC 9068, with the node as actor (RFC 8693 § 4.1). */
export interface AccessClaims extends BaseClaims, UserClaims {
  readonly client_id: string
  readonly azp: string
  readonly scope: string
  readonly auth_time: number
  readonly node_id: string
  readonly account_id: string
  readonly act: { readonly sub: string }
  /** What it came from: the `jti` of a developer ID token, or a sign-in. Revoking that revokes this. */
  readonly sid: string
  /** Thumbprint of the key that its bearer must prove (RFC 9449 § 6.1). */
  readonly cnf?: { readonly jkt: string }
}

/** An access token of a person with no node: good for the identity service itself. */
export type PersonClaims = Omit<AccessClaims, 'node_id' | 'act'>

/** Signature algorithms (RFC 7518 § 3.1, RFC 8037 § 3.1). Our own tokens have ES256, and those for apps may have RS256; a trusted issuer may have another one. */
export const signatureAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

export type SignatureAlgorithm = (typeof signatureAlgorithms)[number]

/**
 * Algorithms of ID tokens for apps: what a project can set as its `id_token_signed_response_alg` (OpenID Connect Dynamic Client
 * Registration 1.0 § 2). The first is the default.
 */
export const appIdAlgorithms = ['ES256', 'RS256'] as const satisfies readonly SignatureAlgorithm[]

export type AppIdAlgorithm = (typeof appIdAlgorithms)[number]

/** What a kind of token must look like. `check` says what is wrong with the claims that only this kind has. */
export interface TokenProfile<Claims extends BaseClaims> {
  readonly label: string
  readonly typ: string
  /** Longest life, in seconds, that is believed. */
  readonly maxLifetime: number
  /** Longest token in characters; absent: `maxTokenLength`. */
  readonly maxLength?: number
  /** Set if a number in the claims decides which of two is newer: the reader compares `iat` and `exp` with its clock by itself. */
  readonly readerJudgesTimes?: true
  /** Algorithms that its issuers may use; absent: ES256. */
  readonly algorithms?: readonly SignatureAlgorithm[]
  /**
   * Set if another identity provider issues it: it may have no type and no `jti`, and the reader compares its audience with the
   * rules of a project.
   */
  readonly isForeign?: true
  readonly check: (payload: JsonObject) => string | undefined
  /** Never set: carries the type of the claims. */
  readonly claims?: Claims
}

export const nonEmpty = (value: unknown): value is string => typeof value === 'string' && value !== ''

export const developerIdProfile: TokenProfile<DeveloperIdClaims> = {
  label: 'developer ID token',
  typ: 'JWT',
  maxLifetime: 366 * 86_400,
  check(payload) {
    if (!nonEmpty(payload.sub)) return 'claim "sub" is not a non-empty string'
    if (!nonEmpty(payload.account_id)) return 'claim "account_id" is not a non-empty string'
    if (typeof payload.auth_time !== 'number') return 'claim "auth_time" is not a number'
    if (payload.sid !== undefined && !nonEmpty(payload.sid)) return 'claim "sid" is not a non-empty string'
    if (payload.scope !== undefined && typeof payload.scope !== 'string')
      return 'claim "scope" is not a string'
    return undefined
  },
}

export const appIdProfile: TokenProfile<AppIdClaims> = {
  label: 'app ID token',
  typ: 'app-id+jwt',
  maxLifetime: 86_400,
  algorithms: appIdAlgorithms,
  check(payload) {
    for (const name of ['sub', 'account_id', 'sid']) {
      if (!nonEmpty(payload[name])) return `claim "${name}" is not a non-empty string`
    }
    if (payload.nonce !== undefined && !nonEmpty(payload.nonce))
      return 'claim "nonce" is not a non-empty string'
    return typeof payload.auth_time === 'number' ? undefined : 'claim "auth_time" is not a number'
  },
}

export const edgeIdProfile: TokenProfile<EdgeIdClaims> = {
  label: 'edge ID token',
  typ: 'edge-id+jwt',
  maxLifetime: 3600,
  check(payload) {
    if (typeof payload.sub !== 'string') return 'claim "sub" is not a string'
    if (typeof payload.node_id !== 'string' || !nodeIdPattern.test(payload.node_id))
      return 'claim "node_id" is not a node ID'
    if (typeof payload.node_name !== 'string') return 'claim "node_name" is not a string'
    const cnf = payload.cnf as JsonObject | undefined
    return nonEmpty(cnf?.jkt) ? undefined : 'claim "cnf.jkt" is not a thumbprint'
  },
}

export const accessProfile: TokenProfile<AccessClaims> = {
  label: 'access token',
  typ: 'at+jwt',
  maxLifetime: 86_400,
  check(payload) {
    for (const name of ['sub', 'client_id', 'account_id']) {
      if (!nonEmpty(payload[name])) return `claim "${name}" is not a non-empty string`
    }
    if (typeof payload.node_id !== 'string' || !nodeIdPattern.test(payload.node_id))
      return 'claim "node_id" is not a node ID'
    if (payload.cnf !== undefined && !nonEmpty((payload.cnf as JsonObject | null)?.jkt))
      return 'claim "cnf.jkt" is not a thumbprint'
    if (typeof payload.scope !== 'string') return 'claim "scope" is not a string'
    return userProblem(payload)
  },
}

export const personProfile: TokenProfile<PersonClaims> = {
  label: 'access token',
  typ: 'at+jwt',
  maxLifetime: 86_400,
  check(payload) {
    for (const name of ['sub', 'client_id', 'account_id', 'sid']) {
      if (!nonEmpty(payload[name])) return `claim "${name}" is not a non-empty string`
    }
    return typeof payload.scope === 'string' ? undefined : 'claim "scope" is not a string'
  },
}

/** The audience of the list of revoked tokens: everyone who verifies tokens. */
export const revocationsAudience = 'urn:selvedge:revocations'

/**
 * What was revoked and has not expired yet, signed by the issuer: all of it, or what changed since an earlier state. Subjects
 * stand in it as the first 16 bytes of their SHA-256 in base64url, so that the public list identifies no subject.
 */
export interface RevocationsClaims extends BaseClaims {
  /** Number of this state. Each change has a larger one; clocks have no part in it. */
  readonly seq: number
  /**
   * Random name of this state. A service that was restored from a backup reaches the same numbers again with other names.
   * Absent in lists of older services.
   */
  readonly mark?: string
  /** Set if this is only what changed since the state of this number; absent: the whole list. */
  readonly since?: number
  /** Set in a whole list that answers a question about a state that the service does not know any more, or never had. */
  readonly restarted?: true
  /** Tokens and sign-ins (`jti` and `sid`). */
  readonly revoked: readonly string[]
  /** Accounts, nodes and clients, each with the Unix second before which its tokens must not have been issued. */
  readonly not_before: Readonly<Record<string, number>>
  /** The same subjects, each with the number below which a token's `epoch` must not be. For tokens that have one, it decides. */
  readonly epochs?: Readonly<Record<string, number>>
  /** Entries that are no longer in the list, because every token that they are about has expired. Only with `since`. */
  readonly ended?: readonly string[]
}

const holdsNumbers = (values: object) => Object.values(values).every((each) => Number.isSafeInteger(each))

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')

export const revocationsProfile: TokenProfile<RevocationsClaims> = {
  label: 'list of revoked tokens',
  typ: 'revocations+jwt',
  maxLifetime: 31 * 86_400,
  // As large as the largest answer that a client reads.
  maxLength: 16 * 1024 * 1024,
  readerJudgesTimes: true,
  check({ seq, mark = '', since = 0, restarted = true, revoked, not_before, ended = [], epochs = {} }) {
    if (!Number.isSafeInteger(seq)) return 'claim "seq" is not a whole number'
    if (!Number.isSafeInteger(since)) return 'claim "since" is not a whole number'
    if (typeof mark !== 'string') return 'claim "mark" is not a text'
    if (restarted !== true) return 'claim "restarted" is not true'
    if (!isTexts(revoked)) return 'claim "revoked" is not a list of texts'
    if (!isTexts(ended)) return 'claim "ended" is not a list of texts'
    if (typeof not_before !== 'object' || not_before === null) return 'claim "not_before" is not an object'
    if (!holdsNumbers(not_before)) return 'claim "not_before" holds no times'
    if (typeof epochs !== 'object' || epochs === null) return 'claim "epochs" is not an object'
    return holdsNumbers(epochs) ? undefined : 'claim "epochs" holds no numbers'
  },
}

/**
 * Proves the identity of a service to another service on the same device, issued by the runtime. `sub` is the ID of its container.
 */
export interface ServiceClaims extends BaseClaims {
  readonly client_id: string
  readonly account_id: string
}

export const serviceProfile: TokenProfile<ServiceClaims> = {
  label: 'service token',
  typ: 'service+jwt',
  maxLifetime: 600,
  check(payload) {
    for (const name of ['sub', 'client_id', 'account_id']) {
      if (!nonEmpty(payload[name])) return `claim "${name}" is not a non-empty string`
    }
    return undefined
  },
}
