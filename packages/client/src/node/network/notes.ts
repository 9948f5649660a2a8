import { NetworkFailure } from './network-failure.ts'

export type Notes = ReturnType<typeof createNotes>

/** The last failure, until the same connection can be opened, or has another answer. */
export function createNotes() {
  let noted: { readonly name: string; readonly message: string } | undefined
  const failed = (name: string, message: string): void => {
    noted = { name, message }
  }
  return {
    problem: () => noted?.message,
    failed,
    /** To be called when what failed works again. */
    passed(name: string): void {
      if (noted?.name === name) noted = undefined
    },
    /** @param name of a server or proxy @param isShown whether a failure is noted */
    async about<T>(name: string, isShown: (reason: string) => boolean, opening: Promise<T>): Promise<T> {
      try {
        const opened = await opening
        if (noted?.name === name) noted = undefined
        return opened
      } catch (cause) {
        if (cause instanceof NetworkFailure && isShown(cause.reason)) failed(name, cause.message)
        throw cause
      }
    },
  }
}
