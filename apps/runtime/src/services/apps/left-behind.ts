/** Removes what releases of an app leave behind: values of secrets, and files. */
import { readSettings, usedConfigs } from '@selvedge/protocol'
import type { Containers } from '../containers/containers.ts'
import type { Owner } from '../deployments/ownership.ts'
import type { AppParts } from './app-parts.ts'
import { memberKey } from './member-names.ts'
import { isOfRelease } from './recovery.ts'

/** Those that another container uses stay, as do those that are gone already. */
export async function removeSecrets(
  {
    containers,
    secrets,
  }: Pick<AppParts, 'secrets'> & { readonly containers: Pick<Containers, 'usersOfSecret'> },
  owner: Owner,
  names: readonly string[],
): Promise<void> {
  for (const name of names)
    if (containers.usersOfSecret(owner, name).length === 0)
      await secrets.remove(owner, name, () => undefined).catch(() => undefined)
}

export async function dropSecret(parts: AppParts, owner: Owner, name: string): Promise<void> {
  if (!isOfRelease(parts.store.value, parts.releases, owner, name)) await removeSecrets(parts, owner, [name])
}

/**
 * Removes what neither the containers of an app nor its former release use: files, and earlier releases. Never rejects.
 *
 * @param key of the app
 */
export async function dropUnused(
  { store, deployments, configs, releases }: AppParts,
  key: string,
): Promise<void> {
  const { containers } = deployments.value
  const app = store.value[key]
  const digests = (app?.current?.members ?? []).flatMap((member) => {
    const container = containers[memberKey(app!, member)]
    return container
      ? usedConfigs(readSettings(container.env)['MCM.CONFIGS']).map(({ digest }) => digest)
      : []
  })
  const revision = app?.current?.revision
  await releases.keepOnly(key, revision)
  const former = revision === undefined ? undefined : releases.former(key, revision)
  await configs.keepOnly(key, new Set([...digests, ...(former?.configs ?? [])]))
}
