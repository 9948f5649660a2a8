import { discoveryPaths, identityPaths } from '@selvedge/protocol'
import { UsageError } from '../failure.ts'
import type { Context } from './context.ts'
import type { ServiceName } from './services.ts'

export interface ServiceCheck {
  /** The service that the runtime uses, or the named one; null where neither is known. */
  readonly url: string | null
  readonly answers: boolean
  /** Why the URL is not known, or does not answer; "" if it answers. */
  readonly problem: string
  /** What to do about it; "" if it answers. */
  readonly hint: string
}

const healthPaths = { identity: identityPaths.health, discovery: discoveryPaths.health } as const

/** Whether a service answers. The request carries no credential. */
export async function checkService(
  { findService, whyNoAnswer }: Pick<Context, 'findService' | 'whyNoAnswer'>,
  name: ServiceName,
): Promise<ServiceCheck> {
  try {
    const { url } = await findService(name)
    const why = await whyNoAnswer(url + healthPaths[name])
    return { url, answers: why === undefined, problem: why?.problem ?? '', hint: why?.hint ?? '' }
  } catch (cause) {
    if (cause instanceof UsageError)
      return { url: null, answers: false, problem: cause.message, hint: cause.hint }
    throw cause
  }
}
