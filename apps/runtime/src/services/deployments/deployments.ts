/**
 * What the device is to run: images, containers, and what happened to them. One document, so that a change is whole or not there.
 * Images, containers and history are found by the keys of `ownership.ts`.
 */
import type { DocumentFormat, DocumentStore } from '@selvedge/service-kit/store'
import * as z from 'zod'
import { readFirstVersion } from './first-version.ts'
import { isKeyOf, ofAccount } from './ownership.ts'

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/)

/** A blob in the store. */
const blobReference = z.strictObject({ digest, size: z.number() })

/** The content of an image, independent of its names. Stored while an image or a container needs it. */
export const contentSchema = z.strictObject({
  kind: z.enum(['function', 'oci']),
  config: blobReference,
  /** Bottom first; `diffId` is the digest of the layer unpacked. */
  layers: z.array(blobReference.extend({ diffId: digest })),
  /** The one file of a function image. */
  entry: blobReference.extend({ language: z.enum(['js', 'wasm']) }).nullable(),
  size: z.number(),
})

const storedImage = z.strictObject({
  clientId: z.string(),
  accountId: z.string(),
  name: z.string(),
  repoTags: z.array(z.string()),
  /** Key of its content: digest of the image configuration. */
  digest,
  /** Unix milliseconds. */
  created: z.number(),
  usedAt: z.number(),
})

const storedContainer = z.strictObject({
  clientId: z.string(),
  accountId: z.string(),
  name: z.string(),
  /** Name of its image. */
  image: z.string(),
  imageKey: z.string(),
  digest,
  /** Under which its data is stored: the key of the container that stored first. */
  dataKey: z.string(),
  /** As the deployment gave it. */
  env: z.record(z.string(), z.string()),
  created: z.number(),
  wanted: z.enum(['running', 'stopped']),
  /** Why the runtime gave it up, until it is started or deployed again. */
  failed: z.string().nullable(),
  /** The result of the last deployment, unless it simply succeeded. */
  note: z.string().nullable(),
  /** Counts deployments: instances of an older one are not this container's. */
  revision: z.number(),
  restarts: z.number(),
})

const entry = z.strictObject({
  at: z.number(),
  event: z.string(),
  rule: z.string(),
  by: z.strictObject({ accountId: z.string(), clientId: z.string() }).nullable(),
  detail: z.string(),
})

const deployments = z.strictObject({
  contents: z.record(z.string(), contentSchema),
  images: z.record(z.string(), storedImage),
  containers: z.record(z.string(), storedContainer),
  /** Data keys of removed containers with data that is still to be removed: data is removed on request only, never as unknown. */
  leaving: z.record(z.string(), z.enum(['function', 'oci'])),
  /** By container, oldest first; of removed ones, too. */
  history: z.record(z.string(), z.array(entry)),
})

export type Content = z.infer<typeof contentSchema>
export type StoredImage = z.infer<typeof storedImage>
export type StoredContainer = z.infer<typeof storedContainer>
export type HistoryItem = z.infer<typeof entry>
export type Deployments = z.infer<typeof deployments>
export type DeploymentStore = DocumentStore<Deployments>

/** Unknown members are refused and not dropped: a change that adds one raises the version. */
export const deploymentsFormat: DocumentFormat<Deployments> = {
  version: 2,
  initial: { contents: {}, images: {}, containers: {}, leaving: {}, history: {} },
  read: (json, version) => deployments.parse(version < 2 ? readFirstVersion(json) : json),
}

/** Maximum entries in the history of one container, and maximum removed containers with a history. */
const kept = { entries: 50, removed: 50 }

/** The document with one more entry in the history of a container. */
export function withHistory(value: Deployments, key: string, item: HistoryItem): Deployments {
  const { [key]: before = [], ...others } = value.history
  const gone = Object.keys(others).filter((each) => !Object.hasOwn(value.containers, each))
  for (const each of gone.slice(0, Math.max(0, gone.length - kept.removed))) delete others[each]
  return { ...value, history: { ...others, [key]: [...before, item].slice(-kept.entries) } }
}

/** The document with an image that was used just now: what is unused the longest is missed least. */
export function withImageUsed(value: Deployments, key: string, usedAt: number): Deployments {
  const image = value.images[key]
  return image ? { ...value, images: { ...value.images, [key]: { ...image, usedAt } } } : value
}

/**
 * The document without all that belongs to an account; the data of its containers is still to be removed.
 *
 * @param shared data of its apps, which is still to be removed, too
 */
export function withoutAccount(
  value: Deployments,
  accountId: string,
  shared: Deployments['leaving'],
): Deployments {
  const data = ofAccount(value.containers, accountId).map(
    ([, { dataKey, digest }]) => [dataKey, value.contents[digest]!.kind] as const,
  )
  const others = <T>(record: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(record).filter(([key]) => !isKeyOf(key, accountId)))
  return withoutUnused({
    ...value,
    images: others(value.images),
    containers: others(value.containers),
    history: others(value.history),
    leaving: { ...value.leaving, ...Object.fromEntries(data), ...shared },
  })
}

/** The kinds of engines for containers that should run. One that was stopped, or has failed, does not need an engine. */
export function kindsInUse({ containers, contents }: Deployments): Content['kind'][] {
  const running = Object.values(containers).filter(
    ({ wanted, failed }) => wanted === 'running' && failed === null,
  )
  return [...new Set(running.map(({ digest }) => contents[digest]!.kind))]
}

/** The document without content that nothing needs, and the digests of the blobs that are still needed. */
export function withoutUnused(value: Deployments): Deployments {
  const used = new Set(
    [...Object.values(value.images), ...Object.values(value.containers)].map((each) => each.digest),
  )
  const contents = Object.fromEntries(Object.entries(value.contents).filter(([key]) => used.has(key)))
  return { ...value, contents }
}

/** @param contents all of them, or some */
export function blobsOf({ contents }: Pick<Deployments, 'contents'>): Set<string> {
  return new Set(
    Object.values(contents).flatMap(({ config, layers, entry }) => [
      config.digest,
      ...layers.map((each) => each.digest),
      ...(entry ? [entry.digest] : []),
    ]),
  )
}

export const without = <T>(record: Readonly<Record<string, T>>, key: string): Record<string, T> => {
  const { [key]: _, ...rest } = record
  return rest
}
