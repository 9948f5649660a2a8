import { type ContainerSettings, readSettings } from '@selvedge/protocol'
import type { StoredContainer } from '../deployments/deployments.ts'

type Placed = Pick<StoredContainer, 'clientId' | 'name' | 'env'>

const ownPathOf = (name: string, settings: ContainerSettings): string =>
  settings['MCM.BASE_API_PATH'] ?? `/${name}`

/** Where a container answers on the listener of the runtime. */
export const basePathOf = ({ clientId, name, env }: Placed): string =>
  `/${clientId}${ownPathOf(name, readSettings(env))}`

/** The same, and its alias where it has one. */
export function prefixesOf({ clientId, name, env }: Placed): string[] {
  const settings = readSettings(env)
  const path = ownPathOf(name, settings)
  return [`/${clientId}${path}`, ...(settings['MCM.API_ALIAS'] ? [`/api${path}`] : [])]
}

/** The environment that the service gets and the record shows: that of the deployment, and what the runtime decided. */
export const shownEnv = (container: Placed, language: 'js' | 'wasm' | undefined): Record<string, string> => ({
  ...container.env,
  'MCM.BASE_API_PATH': basePathOf(container),
  'MCM.RUNTIME': language ?? 'oci',
})
