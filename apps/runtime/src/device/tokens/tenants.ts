import { isSelvedgeError } from '@selvedge/client'
import type { Clock } from '@selvedge/service-kit/clock'
import { shareRun } from '@selvedge/service-kit/share'
import { createLearnedStore } from '@selvedge/service-kit/store'
import { createRemoteIssuer, type RemoteIssuer } from '@selvedge/service-kit/tokens'
import type { Notices } from '../node/notices.ts'
import type { StateStore } from '../state.ts'

export interface TenantParts {
  readonly issuers: readonly string[]
  /** The identity service of the device, which signs the time. It may be one of the issuers. */
  readonly cloud: string
  readonly state: StateStore
  readonly clock: Clock
  readonly notices: Notices
  readonly getJson: (url: string) => Promise<unknown>
  /** When keys that could not be stored are stored again; for tests. */
  readonly retryTimes?: { readonly firstMs: number; readonly maxMs: number }
}

export interface Tenants {
  readonly issuers: readonly RemoteIssuer[]
  readonly cloud: RemoteIssuer
  /** @param listener called when an issuer has other keys than before */
  onChange(listener: () => void): void
  /** To be called before the state closes. */
  stop(): Promise<void>
}

/** The issuers whose access tokens are accepted, with their keys from the state, so that no network is needed. */
export function openTenants({
  issuers,
  cloud,
  state,
  clock,
  notices,
  getJson,
  retryTimes,
}: TenantParts): Tenants {
  let changed = (): void => undefined
  const unstored = new Set<string>()
  const refused = new Set<string>()
  const mark = (issuersOf: Set<string>, issuer: string, isSo: boolean) =>
    isSo ? issuersOf.add(issuer) : issuersOf.delete(issuer)
  const learned = createLearnedStore({
    where: 'tenants.keys',
    onOutcome(issuer, cause) {
      mark(unstored, issuer, cause !== undefined)
      if (cause !== undefined) notices.raise('keys_not_stored', { issuer, cause })
      if (unstored.size === 0) notices.clear('keys_not_stored')
    },
    ...(retryTimes && { times: retryTimes }),
  })
  const open = (issuer: string) =>
    createRemoteIssuer({
      issuer,
      clock,
      getJson,
      stored: state.value.keySets[issuer],
      async onChange(keySet) {
        changed()
        await learned.save(issuer, () =>
          state.update((value) => ({ ...value, keySets: { ...value.keySets, [issuer]: keySet } })),
        )
      },
      onOutcome(cause) {
        // An issuer that does not answer is no failure of its keys: the stored ones stay valid.
        const isRefused = cause !== undefined && !isSelvedgeError(cause)
        mark(refused, issuer, isRefused || (cause !== undefined && refused.has(issuer)))
        if (isRefused) notices.raise('keys_refused', { issuer, cause })
        if (refused.size === 0) notices.clear('keys_refused')
      },
    })
  /** Each is opened once: notices are about all of them. */
  const opened = new Map([...new Set([...issuers, cloud])].map((issuer) => [issuer, open(issuer)]))
  /** What could not be stored counts as not fetched. */
  const refreshed = async (each: RemoteIssuer) => (await each.refresh()) && !unstored.has(each.issuer)
  const found = new Map(
    [...opened].map(([issuer, each]) => [
      issuer,
      { ...each, refresh: shareRun(() => refreshed(each), 'keys of an issuer') },
    ]),
  )
  const find = (issuer: string): RemoteIssuer => found.get(issuer)!
  return {
    issuers: issuers.map(find),
    cloud: find(cloud),
    onChange: (listener) => {
      changed = listener
    },
    stop: learned.stop,
  }
}
