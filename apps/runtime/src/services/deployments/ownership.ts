/**
 * Who owns what on the device. An image, a container, what it stores, its log and its history belong to an account and to one of
 * its clients (projects). Their keys are made here and nowhere else, and hold all three of account, client and name: what one
 * owner has is never found with the key of another. The ID that callers see is `<clientId>-<name>`; it is unique in an account.
 */
import type { AccessClaims } from '@selvedge/protocol/tokens'

/** The account and client of a token. With its issuer and time, work that lasts ends when the project is removed. */
export interface Owner extends Pick<AccessClaims, 'account_id' | 'client_id'> {
  readonly iss?: string | undefined
  /** Unix seconds. */
  readonly iat?: number | undefined
  readonly epoch?: number | undefined
}

/** What is stored of an owner. */
export interface Owned {
  readonly accountId: string
  readonly clientId: string
}

const encoded = (part: string): string => encodeURIComponent(part.toWellFormed())

/** The key of a thing of an owner, such as `<accountId>/selvedge-cli/web`. */
export const keyOf = ({ account_id, client_id }: Owner, name: string): string =>
  [account_id, client_id, name].map(encoded).join('/')

/** The key of the volumes that members of an app share. No container has it: it has a part more than theirs. */
export const appDataKey = (owner: Owner, app: string): string => `${keyOf(owner, app)}/volumes`

/** The ID of a thing, as callers see it. */
export const idOf = ({ clientId, name }: Pick<Owned, 'clientId'> & { readonly name: string }): string =>
  `${clientId}-${name}`

/** The ID of a thing of an owner, by its key. */
export const idOfKey = (owner: Owner, key: string): string =>
  idOf({ clientId: owner.client_id, name: decodeURIComponent(key.slice(keyOf(owner, '').length)) })

/** The key of a thing that an owner requests, by its ID or its name. */
export const askedKey = (owner: Owner, idOrName: string): string => {
  const prefix = `${owner.client_id}-`
  return keyOf(owner, idOrName.startsWith(prefix) ? idOrName.slice(prefix.length) : idOrName)
}

export const isOwnedBy = ({ accountId, clientId }: Owned, owner: Owner): boolean =>
  accountId === owner.account_id && clientId === owner.client_id

/** What belongs to an account, by key. */
export const ofAccount = <T extends Owned>(
  things: Readonly<Record<string, T>>,
  accountId: string,
): [string, T][] => Object.entries(things).filter(([, thing]) => thing.accountId === accountId)

/** Whether a key belongs to an account. */
export const isKeyOf = (key: string, accountId: string): boolean => key.startsWith(`${encoded(accountId)}/`)
