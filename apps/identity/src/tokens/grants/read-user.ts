/** What the gateway of a node gets to know of the person of an app: name, groups, and what is shared with the person. */
import type { UserClaims } from '@selvedge/protocol/tokens'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import type { Groups } from '../../registry/shares/groups.ts'
import type { Shares } from '../../registry/shares/shares.ts'
import type { SignIn } from '../../registry/sign-ins/sign-ins.ts'

export interface ReadUserParts {
  readonly nodes: Pick<Nodes, 'find'>
  readonly groups: Pick<Groups, 'of'>
  readonly shares: Pick<Shares, 'usableBy'>
}

/** @returns the claims; empty for a sign-in that is of no app, or for no node */
export type ReadUser = (
  signIn: Pick<SignIn, 'isOfApp' | 'nodeId' | 'clientId' | 'accountId' | 'personId' | 'email'>,
) => Promise<UserClaims>

/**
 * Groups are those of the account of the device: of the own one, or of the one that shares. A device that the registry does not know is of
 * the person's account, or refuses the token itself.
 */
export const createReadUser =
  ({ nodes, groups, shares }: ReadUserParts): ReadUser =>
  async ({ isOfApp, nodeId, clientId, accountId, personId, email: name }) => {
    if (!isOfApp || nodeId === '') return {}
    const owner = (await nodes.find(nodeId))?.accountId || accountId
    const usable = owner === accountId ? undefined : await shares.usableBy(personId, { nodeId, clientId })
    const isKnown = owner === accountId || usable !== undefined
    const user = { name, groups: isKnown ? await groups.of(owner, personId) : [] }
    return { user, ...(usable && { shares: usable }) }
  }
