import { networkInterfaces } from 'node:os'
import { type Notice, version } from '@selvedge/protocol'
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
  /** What a person should attend to; the same list until something changes. */
  readonly notices: () => readonly Notice[]
  readonly supports: readonly string[]
  readonly revocations: () => object
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

  let last:
    | { now: number; state: object; time: string; links: readonly object[]; notices: object; result: object }
    | undefined

  return (): object => {
    const now = clock.now()
    const time = clock.state()
    const links = [identity.status(), discovery.status(), revocations()] as const
    // As long as all that it is made of is the same, so is the answer, down to its text.
    const isSame =
      last?.now === now &&
      last.state === state.value &&
      last.time === time &&
      last.links[0] === links[0] &&
      last.links[1] === links[1] &&
      last.links[2] === links[2] &&
      last.notices === notices()
    if (last && isSame) return last.result
    const result = Object.freeze({
      nodeId,
      accountId: state.value.accountId,
      name,
      version,
      linkLocalIp: linkLocalIp(now),
      time: { state: time, now: isoTime(now) },
      network: { identity: links[0], discovery: links[1] },
      revocations: links[2],
      notices: notices(),
      supports,
    })
    last = { now, state: state.value, time, links, notices: notices(), result }
    return result
  }
}
