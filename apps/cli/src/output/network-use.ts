/** What a device uses of its link, for people. */
import type { Methods, ResultOf } from '@selvedge/protocol'
import type { Context } from '../context/context.ts'
import { sizeOf } from './progress.ts'

export type NetworkUse = ResultOf<Methods['getNetworkUse']>

/** @returns null for a runtime of an earlier version */
export const networkUse = ({ runtime }: Context): Promise<NetworkUse | null> =>
  runtime.getNetworkUse().catch(() => null)

/** @returns lines without a link that costs, a limit, or any use: one at least */
export function describeUse(use: NetworkUse): string[] {
  const { metered, meteredReason, today, thisMonth, dayBudget, monthBudget, downloadsWait } = use
  const of = (budget: number) => (budget > 0 ? ` of ${sizeOf(budget)}` : '')
  return [
    `today ${sizeOf(sumOf(today))}${of(dayBudget)}, this month ${sizeOf(sumOf(thisMonth))}${of(monthBudget)}${byPurpose(thisMonth)}`,
    ...(metered ? [`metered: ${meteredReason}`] : []),
    ...(downloadsWait === undefined ? [] : [`downloads wait: ${downloadsWait}`]),
  ]
}

type ByPurpose = NetworkUse['today']

const sumOf = (all: ByPurpose): number =>
  Object.values(all).reduce((sum, { sentBytes, receivedBytes }) => sum + sentBytes + receivedBytes, 0)

/** Those that used most first. */
function byPurpose(all: ByPurpose): string {
  const parts = Object.entries(all)
    .map(([name, use]) => ({ name, bytes: sumOf({ use }) }))
    .filter(({ bytes }) => bytes > 0)
    .toSorted((one, other) => other.bytes - one.bytes)
    .map(({ name, bytes }) => `${name} ${sizeOf(bytes)}`)
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}
