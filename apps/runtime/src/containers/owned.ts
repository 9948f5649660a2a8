/** To whom a container belongs: the project that deployed it, and the account of the token that it was deployed with. */
import { RpcError } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import type { Deployments, StoredContainer } from '../deployments/deployments.ts'

export type Owner = Pick<AccessClaims, 'account_id' | 'client_id'>

/** The ID of one of the owner's containers. Its first part, the client ID, may be left out. */
export const idOf = ({ client_id }: Owner, idOrName: string): string =>
  idOrName.startsWith(`${client_id}-`) ? idOrName : `${client_id}-${idOrName}`

/** @throws RpcError `not_found` if the owner has no such container */
export function findOwned({ containers }: Deployments, owner: Owner, id: string): StoredContainer {
  const container = containers[id]
  if (container?.clientId === owner.client_id) return container
  const name = id.slice(owner.client_id.length + 1)
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
