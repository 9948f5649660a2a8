import type { Clock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { createRemoteIssuer, type RemoteIssuer } from '@selvedge/service-kit/tokens'
import type { StateStore } from '../state.ts'

export interface TenantParts {
  readonly issuers: readonly string[]
  readonly state: StateStore
  readonly clock: Clock
  readonly log: Log
  readonly getJson: (url: string) => Promise<unknown>
}

export interface Tenants {
  readonly issuers: readonly RemoteIssuer[]
  /** @param listener called when an issuer has other keys than before */
  onChange(listener: () => void): void
}

/** The issuers whose access tokens are accepted, with their keys from the state, so that no network is needed. */
export function openTenants({ issuers, state, clock, log, getJson }: TenantParts): Tenants {
  let changed = (): void => undefined
  const open = (issuer: string) =>
    createRemoteIssuer({
      issuer,
      clock,
      getJson,
      stored: state.value.keySets[issuer],
      onChange(keySet) {
        changed()
        const keep = state.update((value) => ({ ...value, keySets: { ...value.keySets, [issuer]: keySet } }))
        keep.catch((cause) => log.error('the keys of an issuer could not be kept', { issuer, cause }))
      },
    })
  return {
    issuers: issuers.map(open),
    onChange: (listener) => {
      changed = listener
    },
  }
}
