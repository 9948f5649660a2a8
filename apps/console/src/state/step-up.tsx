/** Confirms that it is still the same person, where an action asks for it, and goes on with the action. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { reasonOf } from '../api.ts'

/** Asks the person to sign in once more. Gives whether that was done. */
export const StepUp = createContext<() => Promise<boolean>>(async () => false)

/** Runs an action; where the sign-in is too old for it, after a fresh one. */
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
