/** Pulls the images of an app before it is deployed. */
import { type AppPlan, RpcError } from '@selvedge/protocol'
import type { Owner } from '../deployments/ownership.ts'
import type { AppParts } from './app-parts.ts'
import type { Progress } from './attempts.ts'

/** An image of the plan, by the name that it gets, and where it comes from. */
export interface AppPull {
  readonly source: string
  readonly name: string
  /** As in `deployImage`. */
  readonly now?: boolean | undefined
}

/** One after the other, as a slow line would have it anyway. @throws as `Images.deploy`, with the reference of the image */
export async function pullImages(
  { images }: Pick<AppParts, 'images'>,
  owner: Owner,
  { services }: AppPlan,
  pulls: readonly AppPull[],
  progress: Progress,
): Promise<void> {
  for (const { source, name, now } of pulls) {
    const users = services.filter(({ image }) => image === name).map((each) => each.name)
    progress.pulling(users, source)
    await images.deploy(owner, source, { name, now }).catch((cause: unknown) => {
      throw named(cause, source)
    })
    progress.pulled(users)
  }
}

/** The error with the reference: an app has several images, and an error of a registry often names its host only. */
const named = (cause: unknown, source: string): unknown =>
  cause instanceof RpcError
    ? new RpcError(cause.reason, `image ${source}: ${cause.message}`, { hint: cause.hint, cause })
    : cause
