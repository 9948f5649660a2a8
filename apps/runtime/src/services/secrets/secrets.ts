/** The secrets of services: write-only values of a project, encrypted on the disk. */
import { join } from 'node:path'
import { RpcError, type SecretRecord, type UsedSecret } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { shareRun } from '@selvedge/service-kit/share'
import type { DocumentNotice, DocumentStore } from '@selvedge/service-kit/store'
import { without } from '../deployments/deployments.ts'
import { isKeyOf, isOwnedBy, keyOf, type Owned, type Owner } from '../deployments/ownership.ts'
import { expectRoom } from './room.ts'
import { openValue, sealValue, versionOf } from './seal.ts'
import { openSecretKey, type SecretKey } from './secret-key.ts'
import { openStoredSecrets, type StoredSecret, type StoredSecrets, secretKeyName } from './stored-secrets.ts'

/** A secret as an instance gets it. */
export interface ServiceSecret {
  readonly name: string
  /** Name of its file, for a container. */
  readonly file: string
  readonly value: Buffer
}

/** A secret as its owner sees it, without the containers that use it. */
type Shown = Omit<SecretRecord, 'containers'>

/** Which secret of which project. */
export interface OwnedName {
  readonly owner: Owner
  readonly name: string
}

export interface Secrets {
  readonly notices: readonly DocumentNotice[]
  /** Resolves when the value is on the disk. @throws RpcError `limit_exceeded`, `invalid_params`; StoreError */
  set(owner: Owner, name: string, value: Buffer): Promise<Shown>
  /**
   * Digits that differ for each value of a secret, and from which no value is found without the key of the device.
   *
   * @returns 64 hexadecimal digits
   */
  versionOf(owner: Owner, name: string, value: Buffer): Promise<string>
  /**
   * Secrets of all owners with a name that ends with the version of their value, `<name>.<version>`.
   *
   * @param digits of the version
   */
  versioned(digits: number): OwnedName[]
  list(owner: Owner): Shown[]
  /**
   * @param expectUnused throws if a container uses it; called when the change is made
   * @throws RpcError `not_found`; StoreError, and what `expectUnused` throws
   */
  remove(owner: Owner, name: string, expectUnused: () => void): Promise<{ name: string }>
  /** @throws RpcError `not_found` with the name of a secret that is not set, or that cannot be decrypted */
  expectSet(owned: Owned, used: readonly UsedSecret[]): void
  /** The values for an instance. @throws as `expectSet` */
  open(owned: Owned, used: readonly UsedSecret[]): ServiceSecret[]
  /** Removes all of an account. @throws StoreError */
  forget(accountId: string): Promise<void>
  close(): Promise<void>
}

/**
 * @param folder of the runtime's own state
 * @throws StoreError
 */
export async function openSecrets(folder: string, clock: Pick<Clock, 'now'>): Promise<Secrets> {
  const store = await openStoredSecrets(folder)
  const path = join(folder, secretKeyName)
  const keyring = createKeyring(path)
  if (Object.keys(store.value).length > 0) await keyring.open()

  const openOne = (key: string, { sealed }: StoredSecret) => openWith(keyring.present(), key, sealed)
  const shown = (key: string, stored: StoredSecret): Shown => ({
    name: stored.name,
    size: stored.size,
    updated: isoTime(stored.updated),
    damaged: openOne(key, stored) === undefined,
  })

  function read(owned: Owned, name: string): Buffer {
    const key = keyOf({ account_id: owned.accountId, client_id: owned.clientId }, name)
    const stored = Object.hasOwn(store.value, key) ? store.value[key] : undefined
    const value = stored && openOne(key, stored)
    if (value) return value
    const what = stored ? 'cannot be decrypted: it or its key was damaged' : 'is not set'
    throw new RpcError('not_found', `the secret ${JSON.stringify(name)} of the project ${what}`, {
      hint: `Set it: selvedge secret set ${name}`,
    })
  }

  return {
    notices: [...store.notices, ...damageOf(store, keyring, path)],
    async set(owner, name, value) {
      if (value.length === 0) throw new RpcError('invalid_params', 'the value of the secret is empty')
      const key = keyOf(owner, name)
      expectRoom(store.value, owner, key, value.length)
      const sealed = sealValue(await keyring.open(), key, value)
      const stored: StoredSecret = {
        accountId: owner.account_id,
        clientId: owner.client_id,
        name,
        size: value.length,
        updated: clock.now(),
        sealed,
      }
      await store.update((all) => {
        expectRoom(all, owner, key, value.length)
        return { ...all, [key]: stored }
      })
      return shown(key, stored)
    },
    versionOf: async (owner, name, value) => versionOf(await keyring.open(), keyOf(owner, name), value),
    versioned: (digits) => versionedIn(store.value, keyring.present(), digits),
    list: (owner) => entriesOf(store.value, owner).map(([key, each]) => shown(key, each)),
    async remove(owner, name, expectUnused) {
      const key = keyOf(owner, name)
      await store.update((all) => {
        if (!Object.hasOwn(all, key))
          throw new RpcError('not_found', `there is no secret ${JSON.stringify(name)}`)
        expectUnused()
        return without(all, key)
      })
      return { name }
    },
    expectSet(owned, used) {
      for (const { name } of used) read(owned, name)
    },
    open: (owned, used) => used.map(({ name, file = name }) => ({ name, file, value: read(owned, name) })),
    forget: (accountId) =>
      store.update((all) =>
        Object.fromEntries(Object.entries(all).filter(([key]) => !isKeyOf(key, accountId))),
      ),
    close: store.close,
  }
}

interface Keyring {
  /** The key, if it was opened. */
  present(): Buffer | undefined
  /** Makes it if it is missing. @throws NodeJS.ErrnoException */
  open(): Promise<Buffer>
  /** Where a damaged one was set aside. */
  aside(): string | undefined
}

function createKeyring(path: string): Keyring {
  let found: SecretKey | undefined
  const openOnce = shareRun(async () => {
    found ??= await openSecretKey(path)
    return found.key
  })
  return { present: () => found?.key, open: () => openOnce(), aside: () => found?.aside }
}

const openWith = (key: Buffer | undefined, name: string, sealed: string): Buffer | undefined =>
  key && openValue(key, name, sealed)

/** Secrets of a project, by their names. */
const entriesOf = (all: StoredSecrets, owner: Owner): [string, StoredSecret][] =>
  Object.entries(all)
    .filter(([, each]) => isOwnedBy(each, owner))
    .toSorted(([, one], [, other]) => (one.name < other.name ? -1 : 1))

function versionedIn(all: StoredSecrets, secretKey: Buffer | undefined, digits: number): OwnedName[] {
  return Object.entries(all).flatMap(([key, { accountId, clientId, name, sealed }]) => {
    const owner = { account_id: accountId, client_id: clientId }
    const at = name.length - digits - 1
    const value = at > 0 && name[at] === '.' ? openWith(secretKey, key, sealed) : undefined
    if (!secretKey || !value) return []
    const version = versionOf(secretKey, keyOf(owner, name.slice(0, at)), value)
    return version.slice(0, digits) === name.slice(at + 1) ? [{ owner, name }] : []
  })
}

/** What a person should know of values that cannot be decrypted. */
function damageOf({ value }: DocumentStore<StoredSecrets>, keyring: Keyring, path: string): DocumentNotice[] {
  const lost = Object.entries(value).filter(
    ([name, { sealed }]) => openWith(keyring.present(), name, sealed) === undefined,
  )
  if (lost.length === 0) return []
  const aside = keyring.aside()
  const where = aside === undefined ? '' : `; the damaged key is set aside as ${aside}`
  return [
    {
      kind: 'reset',
      detail: `${lost.length} of ${Object.keys(value).length} secrets cannot be decrypted with the key in ${path}${where}; set them again`,
    },
  ]
}
