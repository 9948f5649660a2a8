/** Step-up: if an action needs it, asks the person to sign in again, then continues with the action. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { reasonOf } from '../api.ts'

/** Asks the person to sign in again. Resolves with whether the person did. */
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
