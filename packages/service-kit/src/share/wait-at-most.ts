/** Limits how long callers wait for work that they share, while the work continues. */
import { safely } from '../safely/safely.ts'

/**
 * The time counts from now on, not from each call: a caller that comes later, while the work is under way, gets the error at once.
 *
 * @param late the error for the callers; called once, after `ms`
 */
export function waitAtMost<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  const waited = new Promise<T>((resolve, reject) => {
    const timer = setTimeout(
      safely('share.late', () => reject(late()), reject),
      ms,
    )
    const stop = () => clearTimeout(timer)
    work.then(resolve, reject)
    work.then(stop, stop)
  })
  // Perhaps no caller waits.
  waited.catch(() => undefined)
  return waited
}

/** As `waitAtMost`, for work that is started again and again. @param share gives the present run to all its callers */
export function waitAtMostFor<T>(share: () => Promise<T>, ms: number, late: () => Error): () => Promise<T> {
  const limited = new WeakMap<Promise<T>, Promise<T>>()
  return () => {
    const run = share()
    const waited = limited.get(run) ?? waitAtMost(run, ms, late)
    limited.set(run, waited)
    return waited
  }
}
