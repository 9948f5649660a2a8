/** Deploys an app from its plan, with the values of its secrets. */
import { type AppPlan, configBytes } from '@selvedge/protocol'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import type { AppParts } from './app-parts.ts'
import { type AppSecretValues, secretNamesOf, setValues } from './app-secret-values.ts'
import type { Progress } from './attempts.ts'
import { deployRelease } from './deploy-release.ts'
import { removeSecrets } from './left-behind.ts'
import { readMembers } from './members.ts'
import { releaseOf } from './releases.ts'

/** @throws as `Apps.deploy` */
export async function deployApp(
  parts: AppParts,
  owner: Owner,
  plan: AppPlan,
  values: AppSecretValues,
  progress: Progress,
): Promise<void> {
  const { store, secrets, configs } = parts
  const key = keyOf(owner, plan.name)
  const before = store.value[key]
  const names = await secretNamesOf(secrets, owner, plan, values, before?.current)
  const { current } = before ?? {}
  const members = readMembers(plan, names, current?.appVolumes)
  const deployedAt = parts.clock.now()
  const release = releaseOf({ plan, members, secretNames: names, before: current, deployedAt })
  const set: string[] = []
  try {
    await configs.store(key, plan.configs.map(configBytes))
    await setValues(secrets, owner, names, values, (name) => set.push(name))
    const rule = 'deployApp'
    await deployRelease(parts, owner, { name: plan.name, key, before, release, members, progress, rule })
  } catch (cause) {
    // The former release has values of its own.
    await removeSecrets(parts, owner, set)
    throw cause
  }
}
