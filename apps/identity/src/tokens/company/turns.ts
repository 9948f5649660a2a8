/** How many requests wait for the provider of one company: a slow one must not use up those of all others. */
import { RpcError } from '@selvedge/protocol'

/** Sign-ins of one domain that wait for its provider. */
const maxWaiting = 32

/** Runs work for a domain. @throws RpcError `busy` if too many already wait for it */
export type InTurn = <T>(domain: string, work: () => Promise<T>) => Promise<T>

export function createTurns(): InTurn {
  const waiting = new Map<string, number>()
  return async (domain, work) => {
    const before = waiting.get(domain) ?? 0
    if (before >= maxWaiting)
      throw new RpcError('busy', `${maxWaiting} sign-ins wait for the provider of ${domain} already`)
    waiting.set(domain, before + 1)
    try {
      return await work()
    } finally {
      const left = waiting.get(domain)! - 1
      if (left > 0) waiting.set(domain, left)
      else waiting.delete(domain)
    }
  }
}
