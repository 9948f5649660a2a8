/** How many requests wait for the provider of one company: a slow one must not use up those of all others. */
import { RpcError } from '@selvedge/protocol'
import { createWorkCounts } from '@selvedge/service-kit/work'

/** Sign-ins of one domain that wait for its provider. */
const maxWaiting = 32

/** Runs work for a domain. @throws RpcError `busy` if too many already wait for it */
export type InTurn = <T>(domain: string, work: () => Promise<T>) => Promise<T>

export function createTurns(): InTurn {
  const waiting = createWorkCounts()
  return async (domain, work) => {
    if (waiting.of(domain) >= maxWaiting)
      throw new RpcError('busy', `${maxWaiting} sign-ins wait for the provider of ${domain} already`)
    return waiting.during(domain, work)
  }
}
