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

  return () => {
    const now = clock.now()
    return {
      nodeId,
      accountId: state.value.accountId,
      name,
      version,
      linkLocalIp: linkLocalIp(now),
      time: { state: clock.state(), now: isoTime(now) },
      network: { identity: identity.status(), discovery: discovery.status() },
      notices: notices(),
      supports,
    }
  }
}
