/**
 * The apps of the device: which containers are one app. In a document of its own: the format of the deployments stays one that the
 * release before reads, for which members are single containers.
 */
import { join } from 'node:path'
import { type DocumentStore, openDocument } from '@selvedge/service-kit/store'
import * as z from 'zod'
import type { Owner } from '../deployments/ownership.ts'

const storedMember = z.strictObject({
  service: z.string(),
  /** With further names on each. */
  networks: z.array(z.strictObject({ network: z.string(), aliases: z.array(z.string()) })),
  dependsOn: z.array(z.string()),
  /** Named volumes, which are data of the container of the member. */
  volumes: z.array(z.string()),
})

const completion = z.strictObject({
  service: z.string(),
  /** Of its container: another one has not run yet. */
  revision: z.number(),
  exitCode: z.number(),
  /** Unix milliseconds. */
  at: z.number(),
})

export const releaseSchema = z.strictObject({
  revision: z.number(),
  /** Unix milliseconds. */
  deployedAt: z.number(),
  /** In the order of their start. */
  members: z.array(storedMember),
  /** Volumes that belong to the app, those of earlier releases included. Absent without any. */
  appVolumes: z.array(z.string()).optional(),
  /** Secrets of the project that were set for this app alone. */
  secrets: z.array(z.string()),
  /** Members that ran once, each to its end. Written before the deployments have their revisions. */
  completed: z.array(completion).default([]),
})

const storedApp = z.strictObject({
  accountId: z.string(),
  clientId: z.string(),
  name: z.string(),
  created: z.number(),
  /** null until the first deployment has succeeded. */
  current: releaseSchema.nullable(),
  /** Written before a deployment begins. It has happened when the deployments have its revisions. */
  next: z
    .strictObject({
      release: releaseSchema,
      /** Of each container once it is deployed, by its name. */
      revisions: z.array(z.tuple([z.string(), z.number()])),
      /** Names of containers that it removes. */
      removed: z.array(z.string()),
    })
    .nullable(),
  /** Why the last deployment failed. */
  note: z.string().nullable(),
})

export type Completion = z.infer<typeof completion>
export type StoredMember = z.infer<typeof storedMember>
export type Release = z.infer<typeof releaseSchema>
export type StoredApp = z.infer<typeof storedApp>
export type StoredApps = Readonly<Record<string, StoredApp>>
export type AppStore = DocumentStore<StoredApps>

/** @throws StoreError */
export const openStoredApps = (folder: string): Promise<AppStore> =>
  openDocument<StoredApps>(join(folder, 'apps'), {
    version: 1,
    initial: {},
    read: (json) => z.record(z.string(), storedApp).parse(json),
  })

/** The document with an app in the place of the one before; undefined removes it. */
export function withApp(value: StoredApps, key: string, app: StoredApp | undefined): StoredApps {
  const { [key]: _, ...others } = value
  return app ? { ...others, [key]: app } : others
}

/** The app after the deployment that it intends. */
export const committed = (app: StoredApp): StoredApp =>
  app.next ? { ...app, current: app.next.release, next: null, note: null } : app

/** The app without the deployment that it intends; undefined if nothing of it was ever deployed. */
export const withoutNext = (app: StoredApp, note: string | null): StoredApp | undefined =>
  app.current ? { ...app, next: null, note } : undefined

export const ownerOf = ({ accountId, clientId }: StoredApp): Owner => ({
  account_id: accountId,
  client_id: clientId,
})
