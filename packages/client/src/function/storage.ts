/** What both kinds of JavaScript functions are given. */

export interface FunctionInfo {
  /** ID of the container. */
  readonly serviceType: string
  /** Node ID of the device. */
  readonly nodeId: string
  /** Port of the runtime's listener. */
  readonly httpPort: number
  /** URL of the runtime's listener. */
  readonly apiRoot: string
}

/** Visits an item; `false` ends the loop. */
export type VisitItem = (key: string, value: string) => unknown

/**
 * Items are strings, each with at most one tag. An answer is sent after everything that it wrote is on the disk. A key has at most
 * 16 KiB, a tag 256 bytes.
 */
export interface FunctionStorage {
  getItem(key: string): string | null
  /** Does not change the tag of an item. @throws Error if the storage is full or the key is not allowed; nothing is changed then */
  setItem(key: string, value: string): void
  /** @throws Error as `setItem`, also if the tag is too long */
  setItemWithTag(key: string, value: string, tag: string): void
  /** Sets the tag of an item; "" removes it. @returns false if there is no such item @throws Error as `setItemWithTag` */
  updateTag(key: string, tag: string): boolean
  removeItem(key: string): void
  /** Removes all items with a tag. @returns how many */
  deleteItemsByTag(tag: string): number
  /** The same as `deleteItemsByTag`. */
  removeItemsByTag(tag: string): number
  /** Visits the items as they are at the beginning. */
  eachItem(visit: VisitItem): void
  eachItemByTag(tag: string, visit: VisitItem): void
}

/** The secrets of `MCM.SECRETS`, as they were when the instance started. */
export interface FunctionSecrets {
  /** The value as text, or null if the settings of the function do not name the secret. */
  get(name: string): string | null
}

export interface IdentityToken {
  readonly token: string
  /** ISO 8601. */
  readonly expiresAt: string
}
