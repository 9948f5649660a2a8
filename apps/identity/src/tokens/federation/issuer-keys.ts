/**
 * The keys of the issuers that projects trust. They come from the metadata of the issuer that a rule names, never from
 * an address in a token. The projects that trust an issuer share its keys.
 */
import { identityPaths } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { createGuardedGet } from '@selvedge/service-kit/http'
import type { Log } from '@selvedge/service-kit/log'
import {
  createRemoteIssuer,
  createTokenVerifier,
  type ForeignKeySet,
  logOutcome,
  RecentMap,
  type RemoteIssuer,
  readForeignKeySet,
  type TokenVerifier,
} from '@selvedge/service-kit/tokens'
import type { TrustedIssuer } from '../../registry/projects/issuers.ts'

/** How the keys of an issuer are. */
interface KeyState {
  /** Keys that can be used. */
  readonly count: number
  readonly fetchedAt: string | null
  /** Until when they are used if the issuer does not answer any more. */
  readonly validUntil: string | null
  /** Why the last fetch failed; null: it succeeded, or there was no fetch. */
  readonly problem: string | null
}

type Named = Pick<TrustedIssuer, 'issuer' | 'allowsPrivate'>

export interface IssuerKeys {
  /** Verifies tokens of issuers that a rule names, with a cache. */
  verifierOf(issuer: Named): TokenVerifier
  /** State of the keys in this process. Fetches nothing. */
  describe(issuer: Named): KeyState
}

/** Issuers in memory, verified tokens in memory, and fetches at the same time. */
const limits = { issuers: 1000, tokens: 1000, fetches: 256 } as const
/** Milliseconds for which keys serve while their issuer does not answer. */
const keysValidMs = 86_400_000
/** A `kid` that any caller may have made up leads to one fetch a minute. */
const unknownKid = { atOnce: 1, everyMs: 60_000 } as const

interface Held {
  readonly remote: RemoteIssuer
  readonly keySet: () => ForeignKeySet | undefined
  readonly problem: () => string | null
}

const noKeys: KeyState = { count: 0, fetchedAt: null, validUntil: null, problem: null }

export interface IssuerKeysParts {
  readonly clock: Clock
  readonly log: Log
  /** For tests. @param allowsPrivate see `createGuardedGet` */
  readonly getterOf?: (allowsPrivate: boolean) => (url: string) => Promise<unknown>
}

export function createIssuerKeys({
  clock,
  log,
  getterOf = (allowsPrivate) => createGuardedGet({ allowsPrivate }),
}: IssuerKeysParts): IssuerKeys {
  let underWay = 0
  const limited = (get: (url: string) => Promise<unknown>) => async (url: string) => {
    if (underWay >= limits.fetches)
      throw new Error('too many issuers are asked for their keys at the same time')
    underWay++
    try {
      return await get(url)
    } finally {
      underWay--
    }
  }

  function createKind(allowsPrivate: boolean) {
    const held = new RecentMap<string, Held>(limits.issuers)
    const getJson = limited(getterOf(allowsPrivate))
    const open = (issuer: string): Held => {
      let own = held.get(issuer)
      if (!own) held.set(issuer, (own = openIssuer(issuer, getJson, clock, log)))
      return own
    }
    const findIssuer = (issuer: string) => open(issuer).remote
    return { held, verifier: createTokenVerifier({ findIssuer, clock, remembered: limits.tokens }) }
  }
  const kinds = { public: createKind(false), private: createKind(true) }
  const kindOf = ({ allowsPrivate }: Named) => (allowsPrivate ? kinds.private : kinds.public)

  return {
    verifierOf: (named) => kindOf(named).verifier,
    describe(named) {
      const own = kindOf(named).held.get(named.issuer)
      if (!own) return noKeys
      const fetchedAt = own.remote.fetchedAt()
      const isValid = fetchedAt !== undefined && Math.abs(clock.now() - fetchedAt) <= keysValidMs
      return {
        count: isValid ? (own.keySet()?.size ?? 0) : 0,
        fetchedAt: fetchedAt === undefined ? null : isoTime(fetchedAt),
        validUntil: fetchedAt === undefined ? null : isoTime(fetchedAt + keysValidMs),
        problem: own.problem(),
      }
    },
  }
}

function openIssuer(
  issuer: string,
  getJson: (url: string) => Promise<unknown>,
  clock: Clock,
  log: Log,
): Held {
  let keySet: ForeignKeySet | undefined
  let problem: string | null = null
  const logged = logOutcome(issuer, log)
  const remote = createRemoteIssuer({
    issuer,
    clock,
    getJson,
    onOutcome(cause) {
      problem =
        cause === undefined ? null : cause instanceof Error ? cause.message.slice(0, 300) : String(cause)
      logged(cause)
    },
    foreign: {
      // OpenID Connect Discovery § 4: a slash at the end of the issuer is not repeated.
      metadataUrl: issuer.replace(/\/$/, '') + identityPaths.openidConfiguration,
      read: (json) => (keySet = readForeignKeySet(json, keySet)),
      validMs: keysValidMs,
      unknownKid,
    },
  })
  return { remote, keySet: () => keySet, problem: () => problem }
}
