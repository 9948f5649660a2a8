/**
 * Work that many callers ask for and that is done once. A failure is never stored: the next caller starts the work again,
 * so no transient failure lasts until the next restart. `tests/rules` finds promises that are cached in another way.
 */

export interface Shared<T> {
  /** Gives the result of the present work, or starts it. */
  (): Promise<T>
  /** The work that is under way, or its result while that is stored. */
  present(): Promise<T> | undefined
  /** The next call starts the work again, even if it is under way. */
  forget(): void
}

/** Stores the result of the first call that succeeds; all calls until then share the work that is under way. */
export const shareResult = <T>(work: () => Promise<T>): Shared<T> => share(work, true)

/** Calls while the work is under way share it; a call after its end starts it again. */
export const shareRun = <T>(work: () => Promise<T>): Shared<T> => share(work, false)

function share<T>(work: () => Promise<T>, isStored: boolean): Shared<T> {
  let current: Promise<T> | undefined

  async function run(): Promise<T> {
    return work()
  }

  function begin(): Promise<T> {
    const own = run()
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
