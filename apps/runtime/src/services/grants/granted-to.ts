/** Whom a rule of the configuration grants something to. */
import type { Conditions } from '@selvedge/protocol'
import type { StoredContainer } from '../deployments/deployments.ts'
import { idOf } from '../deployments/ownership.ts'

/** The service that wants something. */
export type Asking = Pick<StoredContainer, 'accountId' | 'clientId' | 'name' | 'image' | 'digest'>

/** IDs are those that `getContainers` and `getImages` return; an image has a digest as well. */
export function isGrantedTo({ service, project, image, account }: Conditions, asking: Asking): boolean {
  const { accountId, clientId, digest } = asking
  const isImage = image === digest || image === idOf({ clientId, name: asking.image })
  return (
    (service === undefined || service === idOf(asking)) &&
    (project === undefined || project === clientId) &&
    (image === undefined || isImage) &&
    (account === undefined || account === accountId)
  )
}
