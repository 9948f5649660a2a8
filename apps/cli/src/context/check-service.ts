import { discoveryPaths, identityPaths } from '@selvedge/protocol'
import { UsageError } from '../failure.ts'
import type { Context } from './context.ts'
import type { ServiceName } from './services.ts'

export interface ServiceCheck {
  /** The service that the runtime uses, or the named one; null where neither is known. */
  readonly url: string | null
  readonly answers: boolean
  /** Why the URL is not known; "" if it is known. */
  readonly problem: string
}

const healthPaths = { identity: identityPaths.health, discovery: discoveryPaths.health } as const

/** Whether a service answers. The request carries no credential. */
export async function checkService(
  { findService, answers }: Pick<Context, 'findService' | 'answers'>,
  name: ServiceName,
): Promise<ServiceCheck> {
  try {
    const { url } = await findService(name)
    return { url, answers: await answers(url + healthPaths[name]), problem: '' }
  } catch (cause) {
    if (cause instanceof UsageError) return { url: null, answers: false, problem: cause.message }
    throw cause
  }
}
