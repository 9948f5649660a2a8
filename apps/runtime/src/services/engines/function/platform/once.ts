import { log } from './own.ts'

export interface Callbacks<Result, Failure> {
  readonly success?: (result: Result) => unknown
  readonly error?: (error: Failure) => unknown
}

export interface Outcome<Result, Failure> {
  succeed(result: Result): void
  fail(error: Failure): void
}

/**
 * Calls one of two callbacks, once. What a callback throws or rejects with is written to the log: it neither leads to the
 * other callback nor ends anything.
 */
export function callOnce<Result, Failure>({
  success,
  error,
}: Callbacks<Result, Failure>): Outcome<Result, Failure> {
  let isCalled = false
  const call = <T>(callback: ((value: T) => unknown) | undefined, value: T): void => {
    if (isCalled) return
    isCalled = true
    if (typeof callback !== 'function') return
    Promise.resolve(value)
      .then(callback)
      .catch((cause) => log('uncaught', cause))
  }
  return { succeed: (result) => call(success, result), fail: (failure) => call(error, failure) }
}
