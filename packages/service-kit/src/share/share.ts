/**
 * Work that many callers ask for and that is done once. A failure is never stored: the next caller starts the work again,
 * so no transient failure lasts until the next restart. `tests/rules` finds promises that are cached in another way.
 */
export { waitAtMost, waitAtMostFor } from './wait-at-most.ts'

import { traced } from '../trace/trace.ts'

export interface Shared<T> {
  /** Gives the result of the present work, or starts it. */
  (): Promise<T>
  /** The work that is under way, or its result while that is stored. */
  present(): Promise<T> | undefined
  /** The next call starts the work again, even if it is under way. */
  forget(): void
}

/** Stores the result of the first call that succeeds; all calls until then share the work that is under way. */
export const shareResult = <T>(work: () => Promise<T>, name = 'shared work'): Shared<T> =>
  share(work, true, name)

/**
 * Calls while the work is under way share it; a call after its end starts it again.
 *
 * @param name of the work in traces
 */
export const shareRun = <T>(work: () => Promise<T>, name = 'shared work'): Shared<T> =>
  share(work, false, name)

function share<T>(work: () => Promise<T>, isStored: boolean, name: string): Shared<T> {
  let current: Promise<T> | undefined

  async function run(): Promise<T> {
    return work()
  }

  function begin(): Promise<T> {
    const own = traced('shared', name, run)
    const drop = () => {
      if (current === own) current = undefined
    }
    current = own
    own.then(isStored ? () => undefined : drop, drop)
    return own
  }

  return Object.assign(() => current ?? begin(), {
    present: () => current,
    forget: () => {
      current = undefined
    },
  })
}
