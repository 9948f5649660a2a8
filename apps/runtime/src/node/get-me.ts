import { networkInterfaces } from 'node:os'
import { version } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Link } from '../cloud/link.ts'
import type { StateStore } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'

/** Milliseconds for which the address of the device is taken as known: asking the system costs more than the call itself. */
const addressAge = 5000

export interface GetMeParts {
  readonly nodeId: string
  readonly name: string
  readonly state: StateStore
  readonly clock: DeviceClock
  readonly identity: Link
  readonly discovery: Link
  /** The same list until something changes. */
  readonly notices: () => readonly string[]
  readonly supports: readonly string[]
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
}: GetMeParts) {
  let address = ''
  let askedAt = Number.NEGATIVE_INFINITY

  function linkLocalIp(now: number): string {
    if (Math.abs(now - askedAt) > addressAge) {
      askedAt = now
      const all = Object.values(networkInterfaces()).flat()
      address = all.find((each) => each && !each.internal && each.family === 'IPv4')?.address ?? ''
    }
    return address
  }

  /** What the answer is made of; as long as all of it is the same, so is the answer, down to its text. */
  const sources = (now: number) =>
    [now, state.value, clock.state(), identity.status(), discovery.status(), notices()] as const
  let last: { readonly sources: readonly unknown[]; readonly result: object } | undefined

  return (): object => {
    const now = clock.now()
    const present = sources(now)
    if (last?.sources.every((each, at) => each === present[at])) return last.result
    const result = Object.freeze({
      nodeId,
      accountId: state.value.accountId,
      name,
      version,
      linkLocalIp: linkLocalIp(now),
      time: { state: clock.state(), now: isoTime(now) },
      network: { identity: identity.status(), discovery: discovery.status() },
      notices: notices(),
      supports,
    })
    last = { sources: present, result }
    return result
  }
}
