/** Step-up: if an action needs it, the person signs in again, then the action continues. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { reasonOf } from '../api.ts'

/** Requests a new sign-in. Resolves with whether the person did it. */
export const StepUp = createContext<() => Promise<boolean>>(async () => false)

/** Runs an action; if the sign-in is too old for it, after a new sign-in. */
export function useConfirmed(): <T>(action: () => Promise<T>) => Promise<T | undefined> {
  const ask = useContext(StepUp)
  return async (action) => {
    try {
      return await action()
    } catch (cause) {
      if (reasonOf(cause) !== 'step_up_required') throw cause
      return (await ask()) ? action() : undefined
    }
  }
}
