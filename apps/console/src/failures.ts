/** What a failure of a call is: an outage, or something that this call alone met. Its text for people is loaded when there is one to show. */
import { isSelvedgeError } from '@selvedge/client'

/** An error with a text for people. */
export class Explained extends Error {
  override readonly name = 'Explained'
}

/** Whether the service could not be reached, or something between it and this page answered in its place. */
export const isOutage = (cause: unknown): boolean =>
  isSelvedgeError(cause) &&
  cause.kind === 'connection' &&
  cause.reason !== 'aborted' &&
  !isRefused(cause) &&
  !(cause.cause instanceof Explained)

/** Status codes of a refusal that another try may pass. */
const passing: readonly number[] = [408, 421, 425, 429]

/** Whether something between this page and the service refused this request, and another try is of no use. */
export const isRefused = ({ status = 0 }: { readonly status?: number | undefined }): boolean =>
  status >= 400 && status < 500 && !passing.includes(status)

/** `explain` of `explain.ts`, which few visits need. Where it cannot be loaded, there is an outage. */
export const explain = (cause: unknown): Promise<string> =>
  import('./explain.ts').then(
    (texts) => texts.explain(cause),
    () => 'Can’t reach the server. Check that you are online, and try again.',
  )
