/** Gives running containers the present value of a secret that was set again. */
import { readSettings, usedSecrets } from '@selvedge/protocol'
import { inBackground } from '@selvedge/service-kit/safely'
import type { DeploymentStore, StoredContainer } from '../deployments/deployments.ts'
import { idOf, isOwnedBy, type Owner } from '../deployments/ownership.ts'
import type { Deploys } from './deploy.ts'
import type { Entries, Entry } from './entries.ts'

export interface Renewals {
  /** IDs of the containers of an owner that use a secret. */
  usersOfSecret(owner: Owner, name: string): string[]
  /** Call it when a secret was set: its containers get the new value, in the background. */
  renewSecret(owner: Owner, name: string): void
}

export interface RenewalParts {
  readonly store: Pick<DeploymentStore, 'value'>
  readonly entries: Pick<Entries, 'mayRun'>
  readonly renew: Deploys['renew']
  readonly takeAnyway: (key: string, work: (entry: Entry, key: string) => Promise<void>) => Promise<void>
}

const rule = 'a secret was set (setSecret)'

export function createRenewals({ store, entries, renew, takeAnyway }: RenewalParts): Renewals {
  /** Keys of containers that wait for their turn: it gives them the newest value, however often it was set. */
  const waiting = new Set<string>()

  const usersOf = (owner: Owner, name: string): [string, StoredContainer][] =>
    Object.entries(store.value.containers).filter(
      ([, container]) =>
        isOwnedBy(container, owner) &&
        usedSecrets(readSettings(container.env)['MCM.SECRETS']).some((each) => each.name === name),
    )

  async function renewOne(entry: Entry, key: string): Promise<void> {
    waiting.delete(key)
    const container = store.value.containers[key]
    if (!container || !entries.mayRun(container)) return
    // A start that is under way may have read the value before.
    await entry.service?.retry()
    const running = entry.service?.running()
    if (!running) return
    const signal = readSettings(container.env)['MCM.SECRETS_SIGNAL']
    const { renewSecrets } = running.instance
    if (signal === undefined || !renewSecrets) return renew(key, entry, rule)
    await renewSecrets(signal)
    running.plan.log('runtime', `a secret was set; it gets ${signal} (MCM.SECRETS_SIGNAL)`)
  }

  /** The history of the container has a failure of a new revision; its log has others. */
  function failed(entry: Entry, cause: Error): void {
    const running = entry.service?.running()
    running?.plan.log('runtime', `it did not get the new value of a secret: ${cause.message}`)
  }

  return {
    usersOfSecret: (owner, name) => usersOf(owner, name).map(([, container]) => idOf(container)),
    renewSecret(owner, name) {
      for (const [key] of usersOf(owner, name)) {
        if (waiting.has(key)) continue
        waiting.add(key)
        const renewal = takeAnyway(key, (entry) =>
          renewOne(entry, key).catch((cause) => failed(entry, cause)),
        )
        inBackground('containers.renewSecret', renewal)
      }
    },
  }
}
