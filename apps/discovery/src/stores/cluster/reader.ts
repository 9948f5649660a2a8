/** Reading from the cluster: from the primaries, and from their replicas while a primary does not answer. */
import { StoreError } from '@selvedge/service-kit/store'
import type { Cluster } from 'ioredis'

/** Milliseconds for which a primary is waited for. */
const patience = 400

export type Read = <T>(command: (on: Cluster) => Promise<T>) => Promise<T>

/** @param replicas a connection that reads from replicas; made when it is needed for the first time */
export function createReader(primaries: Cluster, replicas: () => Cluster): Read {
  return async (command) => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), patience)
    })
    const asked = command(primaries).then(
      (value) => ({ value }),
      () => undefined,
    )
    const answer = await Promise.race([asked, late])
    clearTimeout(timer)
    if (answer) return answer.value
    return command(replicas()).catch((cause: Error) => {
      throw new StoreError(`the cluster does not answer: ${cause.message}`, { cause })
    })
  }
}
