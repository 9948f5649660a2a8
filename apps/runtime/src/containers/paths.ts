import { readSettings } from '@selvedge/protocol'
import type { StoredContainer } from '../deployments/deployments.ts'

type Placed = Pick<StoredContainer, 'clientId' | 'name' | 'env'>

const ownPath = ({ name, env }: Placed): string => readSettings(env)['MCM.BASE_API_PATH'] ?? `/${name}`

/** Where a container answers on the listener of the runtime. */
export const basePathOf = (container: Placed): string => `/${container.clientId}${ownPath(container)}`

/** The same, and its alias where it has one. */
export const prefixesOf = (container: Placed): string[] =>
  readSettings(container.env)['MCM.API_ALIAS']
    ? [basePathOf(container), `/api${ownPath(container)}`]
    : [basePathOf(container)]

/** What the service is told, and the record shows: as the deployment gave it, with what the runtime decided. */
export const shownEnv = (container: Placed, language: 'js' | 'wasm' | undefined): Record<string, string> => ({
  ...container.env,
  'MCM.BASE_API_PATH': basePathOf(container),
  'MCM.RUNTIME': language ?? 'oci',
})
