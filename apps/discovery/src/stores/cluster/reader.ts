/** Reading from the cluster: from the primaries, and from their replicas while a primary does not answer. */
import { StoreError } from '@selvedge/service-kit/store'
import type { Cluster } from 'ioredis'

/** Milliseconds for which a primary is waited for; and for which, after one was late, replicas are asked at the same time. */
const timeoutMs = 300
const waryMs = 2000

export type Read = <T>(command: (on: Cluster) => Promise<T>) => Promise<T>

/**
 * @param replicas a connection that reads from replicas; made when it is needed for the first time
 * @param now milliseconds since any moment, which only grow
 */
export function createReader(
  primaries: Cluster,
  replicas: () => Cluster,
  now: () => number = () => performance.now(),
): Read {
  let waryUntil = Number.NEGATIVE_INFINITY
  return async (command) => {
    const asked = command(primaries)
    const late = Symbol('late')
    let timer: NodeJS.Timeout | undefined
    const waiting = new Promise<typeof late>((resolve) => {
      timer = setTimeout(resolve, now() < waryUntil ? 0 : timeoutMs, late)
    })
    const first = await Promise.race([asked, waiting]).catch(() => late)
    clearTimeout(timer)
    if (first !== late) return first as Awaited<typeof asked>
    // Wary for a while, and then patient again: a replica is a moment behind.
    if (now() >= waryUntil) waryUntil = now() + waryMs
    return Promise.any([asked, command(replicas())]).catch((cause: AggregateError) => {
      const [, reason] = cause.errors as Error[]
      throw new StoreError(`the cluster does not answer: ${reason?.message}`, { cause })
    })
  }
}
