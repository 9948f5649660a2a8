/** The leases of this user, one file for each identity service, project and node, with the key that the lease is bound to. */
import { hash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { PrivateJwk } from '@selvedge/client'
import { readConfigFile, writeConfigFile } from '../context/config-file.ts'
import { removePrivateFile } from '../context/config-folder.ts'

/** What a lease is for. */
export interface LeasePlace {
  readonly identityUrl: string
  readonly clientId: string
  readonly nodeId: string
}

export interface StoredLease extends LeasePlace {
  readonly lease: string
  /** Unix seconds. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** The private key as a JWK. */
  readonly key: PrivateJwk
}

export interface StoredLeases {
  /** Undefined also for a file that is damaged: the next lease replaces it. @throws UsageError if others can read the file */
  read(place: LeasePlace): StoredLease | undefined
  write(lease: StoredLease): void
  /** Removes the leases of a project. */
  removeAll(of: Omit<LeasePlace, 'nodeId'>): void
}

/** @param folder the user's configuration folder */
export function createLeases(folder: string): StoredLeases {
  const own = join(folder, 'leases')
  const nameOf = ({ identityUrl, clientId, nodeId }: LeasePlace) =>
    `${hash('sha256', `${identityUrl} ${clientId}`).slice(0, 32)}-${hash('sha256', nodeId).slice(0, 32)}.json`
  return {
    read(place) {
      const content = readConfigFile(join(own, nameOf(place)), 'Remove it.')
      return isOf(content, place) ? content : undefined
    },
    write: (lease) => writeConfigFile(join(own, nameOf(lease)), lease),
    removeAll(of) {
      const prefix = nameOf({ ...of, nodeId: '' }).slice(0, 33)
      for (const name of namesIn(own)) if (name.startsWith(prefix)) removePrivateFile(join(own, name))
    },
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function isOf(content: unknown, place: LeasePlace): content is StoredLease {
  const stored = Object(content) as Partial<StoredLease>
  return (
    stored.identityUrl === place.identityUrl &&
    stored.clientId === place.clientId &&
    stored.nodeId === place.nodeId &&
    typeof stored.lease === 'string' &&
    typeof stored.issuedAt === 'number' &&
    typeof stored.expiresAt === 'number' &&
    typeof stored.key === 'object'
  )
}
