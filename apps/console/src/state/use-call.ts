import { useCallback, useEffect, useState } from 'preact/hooks'
import { explain } from '../api.ts'

export interface Call<T> {
  readonly data: T | undefined
  readonly error: string | undefined
  readonly reload: () => Promise<void>
  /** Puts something newer in place of the answer. */
  readonly set: (change: (data: T) => T) => void
}

/** The answer of a call, made when the view opens and whenever it is asked for again. */
export function useCall<T>(call: () => Promise<T>, about: readonly unknown[] = []): Call<T> {
  const [data, setData] = useState<T>()
  const [error, setError] = useState<string>()
  const reload = useCallback(async () => {
    try {
      setData(await call())
      setError(undefined)
    } catch (cause) {
      setError(explain(cause))
    }
  }, about)
  useEffect(() => void reload(), [reload])
  const set = useCallback((change: (data: T) => T) => setData((before) => before && change(before)), [])
  return { data, error, reload, set }
}
