import { networkInterfaces } from 'node:os'
import { type Notice, version } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Link } from '../cloud/link.ts'
import type { StateStore } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'

/** Milliseconds for which the address of the device is cached: a query to the system costs more than the call itself. */
const addressMaxAgeMs = 5000

export interface GetMeParts {
  readonly nodeId: string
  readonly name: string
  readonly state: StateStore
  readonly clock: DeviceClock
  readonly identity: { readonly link: Link; readonly url: string }
  readonly discovery: { readonly link: Link; readonly url: string }
  /** What a person should attend to; the same list until something changes. */
  readonly notices: () => readonly Notice[]
  readonly supports: readonly string[]
  readonly revocations: () => object
  readonly leases: { shown(): readonly object[] }
  /** URL of the HTTP proxy without a password; undefined: no proxy. */
  readonly proxy?: string | undefined
  /** URL of the token endpoint of this runtime. */
  readonly tokenEndpoint: () => string
}

interface Results {
  readonly local: object
  /** Without the URLs of the services. */
  readonly remote: object
}

export function createGetMe({
  nodeId,
  name,
  state,
  clock,
  identity,
  discovery,
  notices,
  supports,
  revocations,
  leases,
  proxy,
  tokenEndpoint,
}: GetMeParts) {
  let address = ''
  let askedAt = Number.NEGATIVE_INFINITY

  function linkLocalIp(now: number): string {
    if (Math.abs(now - askedAt) > addressMaxAgeMs) {
      askedAt = now
      const all = Object.values(networkInterfaces()).flat()
      address = all.find((each) => each && !each.internal && each.family === 'IPv4')?.address ?? ''
    }
    return address
  }

  /** What the last answer was made of, and the answer. */
  let last: { readonly of: readonly unknown[]; readonly results: Results } | undefined

  /** Other machines come over TLS: where a device gets its tokens from is nothing for them. */
  return ({ overTls }: { readonly overTls?: boolean }): object => {
    const now = clock.now()
    const time = clock.state()
    const links = [identity.link.status(), discovery.link.status(), revocations()] as const
    const of = [now, state.value, time, ...links, notices(), leases.shown()]
    // As long as all that it is made of is the same, so is the answer, down to its text.
    const isSame = last?.of.every((each, at) => each === of[at])
    if (last && isSame) return overTls ? last.results.remote : last.results.local
    const shared = {
      nodeId,
      accountId: state.value.accountId,
      name,
      version,
      linkLocalIp: linkLocalIp(now),
      time: { state: time, now: isoTime(now) },
      revocations: links[2],
      notices: notices(),
      supports,
    }
    const network = { identity: links[0], discovery: links[1] }
    const offline = { tokenEndpoint: tokenEndpoint() }
    const results: Results = {
      local: Object.freeze({
        ...shared,
        offline: { ...offline, leases: leases.shown() },
        network: {
          identity: { url: identity.url, ...links[0] },
          discovery: { url: discovery.url, ...links[1] },
          ...(proxy !== undefined && { proxy }),
        },
      }),
      remote: Object.freeze({ ...shared, offline, network }),
    }
    last = { of, results }
    return overTls ? results.remote : results.local
  }
}
