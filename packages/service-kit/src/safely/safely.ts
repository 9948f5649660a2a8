/**
 * The entry into every callback that handles foreign data: events, timers, streams, workers, promises that nothing awaits.
 * An exception in one of these would end the process. Here it ends the request, the stream or the instance that caused it.
 */
import { channel } from 'node:diagnostics_channel'

/** A failure that was caught: the callback that failed, as `feature.event`, and what it threw. */
export interface CaughtFailure {
  readonly where: string
  readonly cause: unknown
}

/** Every caught failure is published here as a {@link CaughtFailure}; the life cycle logs and counts them. */
export const caughtFailures = channel('selvedge:caught-failure')

/** At most four: no event has more, and a call with a list of any length cannot be compiled well. */
type Arguments = readonly [unknown?, unknown?, unknown?, unknown?]
type Callback = (...args: Arguments) => unknown

/**
 * Wraps a callback so that it never throws and leaves no rejected promise.
 *
 * @param where names the callback in the log, as `feature.event`: `gateway.data`
 * @param callback may throw, or return a promise that rejects
 * @param refuse ends what the callback served (destroys the socket, refuses the request); gets the cause and the arguments.
 *   It may throw as well: that is caught, too.
 */
export const safely = guard as <A extends Arguments>(
  where: string,
  callback: (...args: A) => unknown,
  refuse?: (cause: unknown, ...args: A) => void,
) => (...args: A) => void

function guard(where: string, callback: Callback, refuse?: (cause: unknown, ...args: Arguments) => void) {
  return (one: unknown, two: unknown, three: unknown, four: unknown): void => {
    const endWith = (cause: unknown) => {
      reportFailure(where, cause)
      try {
        refuse?.(cause, one, two, three, four)
      } catch (second) {
        reportFailure(`${where}.refuse`, second)
      }
    }
    try {
      const result = callback(one, two, three, four)
      if (result instanceof Promise) result.catch(endWith)
    } catch (cause) {
      endWith(cause)
    }
  }
}

/**
 * Lets a promise run that nothing awaits; its rejection is reported.
 *
 * @param where names the work in the log, as `feature.work`: `containers.resume`
 */
export function inBackground(where: string, work: PromiseLike<unknown>): void {
  work.then(undefined, (cause) => reportFailure(where, cause))
}

/**
 * Reports a failure that a `catch` clause took care of.
 *
 * @param where as in {@link safely}
 */
export function reportFailure(where: string, cause: unknown): void {
  // A subscriber that throws does not throw here: Node reports it as a separate uncaught exception.
  caughtFailures.publish({ where, cause } satisfies CaughtFailure)
}
