/** Which data a container uses: its own, and the volumes that it shares with others of its app. */
import { type ContainerSettings, readSettings, usedAppVolumes } from '@selvedge/protocol'
import type { StoredContainer } from './deployments.ts'
import { appDataKey, type Owned } from './ownership.ts'

/** Key of the volumes that a container shares; undefined if it shares no volume. */
export function sharedDataKey(
  { accountId, clientId }: Owned,
  settings: Pick<ContainerSettings, 'MCM.APP_VOLUMES'>,
): string | undefined {
  const [first] = usedAppVolumes(settings['MCM.APP_VOLUMES'])
  return first && appDataKey({ account_id: accountId, client_id: clientId }, first.app)
}

export function dataKeysOf(container: StoredContainer): string[] {
  const shared = sharedDataKey(container, readSettings(container.env))
  return shared === undefined ? [container.dataKey] : [container.dataKey, shared]
}
