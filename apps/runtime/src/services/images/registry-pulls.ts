/** Deployments from registries, noted so that those that a stop of the runtime interrupts continue at the next start. */
import type { ImageRecord } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { inBackground } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import { continuePull, timeLeftOf } from './continue-pull.ts'
import type { Deployer } from './deployer.ts'
import { type InterruptedPull, openInterrupted } from './interrupted.ts'
import { real } from './registry/resumed.ts'
import type { SourceOptions } from './registry/sources.ts'

export interface DeployHow {
  /** Name of the image on the device. */
  readonly name?: string | undefined
  /** Whether a download uses the link at once, although it is metered or its budget is used. */
  readonly now?: boolean | undefined
}

interface RegistryPulls {
  /** Joins the same deployment, if it continues at present. @throws RpcError */
  pull(owner: Owner, source: string, how: DeployHow): Promise<ImageRecord>
  /** To be called once. */
  continueAll(): void
}

interface Parts {
  readonly deployer: Pick<Deployer, 'fromRegistry'>
  readonly clock: Pick<Clock, 'now'>
  readonly accountId: () => string
  readonly registries: SourceOptions
  readonly pullMs?: number
}

/** @param folder is made if it is missing */
export async function openRegistryPulls(folder: string, parts: Parts): Promise<RegistryPulls> {
  const { deployer, clock, accountId, registries } = parts
  const interrupted = await openInterrupted(folder)
  const continued = new Map<string, ReturnType<typeof shareRun<ImageRecord>>>()
  const keyOfPull = (owner: Owner, source: string, given = '') => `${keyOf(owner, given)} ${source}`

  async function continueOne(each: InterruptedPull): Promise<void> {
    const { owner, source, name, isUrgent } = each
    const key = keyOfPull(owner, source, name)
    const leftMs = timeLeftOf(each, clock.now, parts.pullMs)
    const attempt = shareRun(() =>
      deployer.fromRegistry(owner, source, { given: name }, { isUrgent, continuedMs: leftMs() }),
    )
    continued.set(key, attempt)
    await continuePull(each, {
      attempt,
      leftMs,
      isWanted: () => owner.account_id === accountId(),
      waiting: registries.waiting ?? real,
    }).finally(() => continued.delete(key))
  }

  return {
    async pull(owner, source, { name, now: isUrgent = false }) {
      const present = continued.get(keyOfPull(owner, source, name))?.present()
      // One that waits for the link is not joined by a caller that wants it at once.
      if (present && !isUrgent) return present
      const pull = { owner, source, name, isUrgent, since: clock.now() }
      return deployer.fromRegistry(
        owner,
        source,
        { given: name },
        {
          isUrgent,
          around: (work) => interrupted.during(pull, work),
        },
      )
    },
    continueAll() {
      for (const each of interrupted.left.splice(0)) inBackground('images.continue', continueOne(each))
    },
  }
}
