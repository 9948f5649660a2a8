import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { reasonOf } from '../api.ts'
import { explain, isOutage } from '../failures.ts'
import { outage } from './outage.ts'

export interface Call<T> {
  readonly data: T | undefined
  readonly error: string | undefined
  /** Why the service refused, if it did. */
  readonly reason: string | undefined
  readonly reload: () => Promise<void>
  /** Puts something newer in place of the answer. */
  readonly set: (change: (data: T) => T) => void
}

interface Answer<T> {
  readonly data?: T | undefined
  readonly error?: string | undefined
  readonly reason?: string | undefined
}

/** The answer of a call, made when the view opens and whenever it is asked for again. The answer to an earlier call is ignored. */
export function useCall<T>(call: () => Promise<T>, about: readonly unknown[] = []): Call<T> {
  const [answer, setAnswer] = useState<Answer<T>>({})
  const asked = useRef(0)
  const reload = useCallback(async () => {
    const own = ++asked.current
    const next = await call().then(
      (data) => ({ data }),
      // The banner reports an outage, on all pages in the same way.
      async (cause) => ({
        error: isOutage(cause) ? undefined : await explain(cause),
        reason: reasonOf(cause),
      }),
    )
    if (own === asked.current) setAnswer((before) => ({ data: before.data, ...next }))
  }, about)
  useEffect(() => void reload(), [reload])
  useEffect(() => outage.follow(() => void (outage.isOn() || reload())), [reload])
  const set = useCallback(
    (change: (data: T) => T) =>
      setAnswer((before) => (before.data === undefined ? before : { ...before, data: change(before.data) })),
    [],
  )
  return { data: answer.data, error: answer.error, reason: answer.reason, reload, set }
}
