/**
 * The keys of the issuers that projects trust. They come from the metadata of the issuer that a rule names, never from
 * an address in a token. The projects that trust an issuer share its keys, and replicas store them for each other and for a later start.
 */
import { identityPaths } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { createGuardedGet } from '@selvedge/service-kit/http'
import type { Log } from '@selvedge/service-kit/log'
import type { Outbound } from '@selvedge/service-kit/network'
import { createLearnedStore, type LearnedStore } from '@selvedge/service-kit/store'
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
import { createWorkCount } from '@selvedge/service-kit/work'
import { type IssuerKeySets, issuerKeysValidMs } from '../../registry/projects/issuer-key-sets.ts'
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
  /** The same; while this process has no keys, the state of those that are stored. */
  show(issuer: Named): Promise<KeyState>
  /** To be called before the store closes. */
  stop(): Promise<void>
}

/** Issuers in memory, verified tokens in memory, and fetches at the same time. */
const limits = { issuers: 1000, tokens: 1000, fetches: 256 } as const
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
  readonly issuerKeySets: IssuerKeySets
  readonly log: Log
  readonly network: Outbound
  /** For tests. @param allowsPrivate see `createGuardedGet` */
  readonly getterOf?: (allowsPrivate: boolean) => (url: string) => Promise<unknown>
}

export function createIssuerKeys(parts: IssuerKeysParts): IssuerKeys {
  const { clock, issuerKeySets, network: outbound } = parts
  const { getterOf = (allowsPrivate) => createGuardedGet({ allowsPrivate, outbound }) } = parts
  const fetches = createWorkCount('fetches')
  const learned = createLearnedStore({ where: 'issuerKeys.store' })
  const limited = (get: (url: string) => Promise<unknown>) => async (url: string) => {
    if (fetches.underWay >= limits.fetches)
      throw new Error('too many issuers are asked for their keys at the same time')
    return fetches.during(() => get(url))
  }

  function createKind(allowsPrivate: boolean) {
    const held = new RecentMap<string, Held>(limits.issuers)
    const getJson = limited(getterOf(allowsPrivate))
    const open = (issuer: string): Held => {
      let own = held.get(issuer)
      if (!own)
        held.set(issuer, (own = openIssuer({ issuer, allowsPrivate }, getJson, { ...parts, learned })))
      return own
    }
    const findIssuer = (issuer: string) => open(issuer).remote
    return { held, verifier: createTokenVerifier({ findIssuer, clock, remembered: limits.tokens }) }
  }
  const kinds = { public: createKind(false), private: createKind(true) }
  const kindOf = ({ allowsPrivate }: Named) => (allowsPrivate ? kinds.private : kinds.public)

  const stateOf = (fetchedAt: number | undefined, count: number, problem: string | null): KeyState => {
    if (fetchedAt === undefined) return { ...noKeys, problem }
    const isValid = Math.abs(clock.now() - fetchedAt) <= issuerKeysValidMs
    const validUntil = isoTime(fetchedAt + issuerKeysValidMs)
    return { count: isValid ? count : 0, fetchedAt: isoTime(fetchedAt), validUntil, problem }
  }

  function describe(named: Named): KeyState {
    const own = kindOf(named).held.get(named.issuer)
    return own ? stateOf(own.remote.fetchedAt(), own.keySet()?.size ?? 0, own.problem()) : noKeys
  }

  return {
    verifierOf: (named) => kindOf(named).verifier,
    describe,
    async show(named) {
      const own = describe(named)
      const stored = own.count > 0 ? undefined : await issuerKeySets.load(named)
      if (!stored) return own
      const count = countKeys(stored.keySet)
      return count === undefined ? own : stateOf(stored.fetchedAt, count, own.problem)
    },
    stop: learned.stop,
  }
}

/** How many keys of a stored set can be used; undefined if it is no key set. */
function countKeys(keySet: unknown): number | undefined {
  try {
    return readForeignKeySet(keySet).size
  } catch {
    return undefined
  }
}

function openIssuer(
  named: Named,
  getJson: (url: string) => Promise<unknown>,
  { clock, log, issuerKeySets, learned }: IssuerKeysParts & { readonly learned: LearnedStore },
): Held {
  const { issuer } = named
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
      validMs: issuerKeysValidMs,
      unknownKid,
      stored: {
        load: () => issuerKeySets.load(named),
        save(fetchedAt) {
          const stored = { keySet: keySet!.published(), fetchedAt }
          return learned.save(`${named.allowsPrivate} ${issuer}`, () => issuerKeySets.save(named, stored))
        },
      },
    },
  })
  return { remote, keySet: () => keySet, problem: () => problem }
}
