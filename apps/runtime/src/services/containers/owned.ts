/** What the owner of a container may expect of it; who owns what is decided in `deployments/ownership.ts`. */
import { RpcError } from '@selvedge/protocol'
import type { Deployments, StoredContainer } from '../deployments/deployments.ts'
import { askedKey, type Owner } from '../deployments/ownership.ts'

/**
 * The key of one of the owner's containers, and the container.
 *
 * @param idOrName the client ID, the first part of the ID, may be left out
 * @throws RpcError `not_found` if the owner has no such container
 */
export function findOwned(
  { containers }: Deployments,
  owner: Owner,
  idOrName: string,
): readonly [key: string, container: StoredContainer] {
  const key = askedKey(owner, idOrName)
  const container = containers[key]
  if (container) return [key, container]
  const name = decodeURIComponent(key.slice(key.lastIndexOf('/') + 1))
  throw new RpcError(
    'not_found',
    `there is no container ${JSON.stringify(name)} of client ${owner.client_id}`,
  )
}

/** After a device changes hands it does not run what its former owner deployed. */
export const isOfAccount = ({ accountId }: StoredContainer, associated: string): boolean =>
  accountId === associated

/** @throws RpcError `wrong_account`: the account may have left while the change waited for its turn */
export function expectOfAccount(container: StoredContainer, associated: string): void {
  if (isOfAccount(container, associated)) return
  throw new RpcError('wrong_account', 'this runtime is not associated with the account of the token any more')
}
