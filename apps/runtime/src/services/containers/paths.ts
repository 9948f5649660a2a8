import { type ContainerSettings, readSettings } from '@selvedge/protocol'
import type { StoredContainer } from '../deployments/deployments.ts'

type Placed = Pick<StoredContainer, 'clientId' | 'name' | 'env'>

const ownPathOf = (name: string, settings: ContainerSettings): string =>
  settings['MCM.BASE_API_PATH'] ?? `/${name}`

/** Where a container answers on the listener of the runtime; "" for one that the gateway has no path for. */
export function basePathOf({ clientId, name, env }: Placed): string {
  const settings = readSettings(env)
  return settings['MCM.GATEWAY'] === 'off' ? '' : `/${clientId}${ownPathOf(name, settings)}`
}

/** The same, and its alias where it has one. */
export function prefixesOf({ clientId, name, env }: Placed): string[] {
  const settings = readSettings(env)
  if (settings['MCM.GATEWAY'] === 'off') return []
  const path = ownPathOf(name, settings)
  return [`/${clientId}${path}`, ...(settings['MCM.API_ALIAS'] ? [`/api${path}`] : [])]
}

/** The environment that the service gets and the record shows: that of the deployment, and what the runtime decided. */
export const shownEnv = (container: Placed, language: 'js' | 'wasm' | undefined): Record<string, string> => ({
  ...container.env,
  ...(prefixesOf(container).length > 0 && { 'MCM.BASE_API_PATH': basePathOf(container) }),
  'MCM.RUNTIME': language ?? 'oci',
})
