/** A reader of OCI registries (OCI distribution specification 1.1 § 3). */
import { hash } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import type { Packed } from '../archive.ts'
import type { Blobs, Draft } from '../blobs.ts'
import { findManifest, imageLimits } from '../manifest.ts'
import type { PartialLayers } from '../partials.ts'
import { type Allowance, whileAllowed } from './allowed.ts'
import { createPlaces, createTogether, type Places } from './at-once.ts'
import { createAttempts } from './attempts.ts'
import { readText, unavailable } from './http-get.ts'
import { type Reference, readReference } from './reference.ts'
import { createRepeater } from './repeated.ts'
import { limitTime, real, resumed, type TimeLeft, type Waiting } from './resumed.ts'
import { openSources, type SourceOptions } from './sources.ts'

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

const ignore = () => undefined

/** Bytes of a blob of which no part is stored when its pull fails. */
const maxWhole = 64 * 1024
/** Largest manifest in bytes, as registries themselves limit them. */
const maxManifest = 4 * 1024 * 1024

export interface PullOptions extends SourceOptions {
  /** Called with the bytes that the manifest announces, before the first of them comes. @throws to refuse */
  readonly announce: (bytes: number) => Promise<void>
  readonly watch: (content: AsyncIterable<Uint8Array>, length: number) => AsyncIterable<Uint8Array>
  /** Limit in bytes of all layers as they are transferred. */
  readonly maxSize: number
  /** Called when a request failed and is repeated after a time. @returns what to call then */
  readonly onWait?: (ms: number, cause: unknown) => () => void
  /** Of the device; left out: of this pull alone. */
  readonly places?: Places
  /** Milliseconds for the whole pull. */
  readonly pullMs?: number
  /** Whether an earlier run of the runtime began the pull: the registry is waited for although it has not answered yet. */
  readonly isContinued?: boolean
  /** Layers of which a part has arrived; left out: nothing is stored of a pull that fails. */
  readonly partials?: PartialLayers
  /** Called with the bytes of each layer that are on the disk already, and with a negative number for bytes that were counted and are wrong. */
  readonly onFound?: (bytes: number) => void
  /** Gives up: its reason is an RpcError. */
  readonly signal?: AbortSignal
  /** Undefined: the pull uses the link at once. */
  readonly allowance?: Allowance | undefined
  /** Whether stored content may be used in place of a download: the caller has deployed it before. */
  readonly mayReuse: (digest: string) => boolean
}

/** @throws RpcError `registry_unavailable`, `registry_refused`, `not_found`, `digest_mismatch`, `invalid_image`; then nothing is left of it */
export async function pullImage(blobs: Blobs, source: string, options: PullOptions): Promise<Packed> {
  const reference = readReference(source)
  const { base, during, isLast, together, repeated } = openPull(reference, options)

  async function document(version: string, expected: string | undefined): Promise<string> {
    const text = await repeated(async (hasAnswered) => {
      const answer = await together.get(`${base}/manifests/${version}`, { Accept: manifestTypes })
      hasAnswered()
      return readText(answer, maxManifest)
    })
    const digest = `sha256:${hash('sha256', text, 'hex')}`
    if (expected !== undefined && digest !== expected)
      throw new RpcError(
        'digest_mismatch',
        `the manifest of ${source} should be ${expected} and is ${digest}`,
      )
    return text
  }

  const { manifest } = await during(async () =>
    findManifest(
      await document(reference.version, reference.digest),
      'the manifest of the registry',
      (digest) => document(digest, digest),
    ),
  )
  expectSmall(manifest, options.maxSize)
  const isThere = async (digest: string) => options.mayReuse(digest) && (await blobs.has(digest))
  // The same layer may come several times: one that changes nothing, for example.
  const unique = new Map([manifest.config, ...manifest.layers].map((each) => [each.digest, each]))
  const missing = []
  for (const each of unique.values()) if (!(await isThere(each.digest))) missing.push(each)
  await options.announce(missing.reduce((sum, { size }) => sum + size, 0))

  const drafts = new Map<string, Draft>()
  try {
    const fetch = async (blob: Blob): Promise<Draft> => {
      const { digest, size } = blob
      const draftOf = (content: AsyncIterable<Uint8Array>) =>
        blobs.draft(options.watch(content, size), digest)
      const url = `${base}/blobs/${digest}`
      const attempts = createAttempts(together.get, options.onFound ?? ignore)
      const { expectTime, waiting } = together
      const download = (from = 0) =>
        attempts.count(resumed(attempts.get, url, blob, expectTime, { waiting, from, isLastSource: isLast }))
      const stored = (await isThere(digest))
        ? // What is damaged on the disk is downloaded again.
          await draftOf(blobs.read(digest)).catch(() => undefined)
        : undefined
      const rest = (from: number) => options.watch(download(from), size - from)
      const complete = async () => {
        const partials = size > maxWhole ? options.partials : undefined
        return (await partials?.complete(blob, rest, attempts.found)) ?? draftOf(download())
      }
      const draft = stored ?? (await during(() => attempts.run(complete)))
      drafts.set(digest, draft)
      return draft
    }
    await together.forEach(unique.values(), fetch, options.places ?? createPlaces())
    const draftOf = ({ digest }: Blob) => drafts.get(digest)!
    const [config, layers] = [draftOf(manifest.config), manifest.layers.map(draftOf)]
    return { config, layers, repoTags: [reference.text], drafts: [...drafts.values()] }
  } catch (cause) {
    const mayContinue = cause instanceof RpcError && cause.reason === 'registry_unavailable'
    const isStored = (draft: Draft) => mayContinue && options.partials?.has(draft)
    await blobs.discard([...drafts.values()].filter((draft) => !isStored(draft)))
    if (cause instanceof RpcError) throw cause
    throw unavailable(base, (cause as Error).message, cause)
  }
}

/** What a pull requests with: its sources are used only while the link may be, and while the pull is wanted and has time. */
function openPull(reference: Reference, options: PullOptions) {
  const { allowance, isContinued, onWait, pullMs, signal } = options
  const waiting = shownWaiting(options)
  const inTime = limitTime(waiting, pullMs)
  const expectTime: TimeLeft = (...asked) => {
    signal?.throwIfAborted()
    inTime(...asked)
  }
  const { get, ...sources } = openSources(reference, options)
  const allowed = whileAllowed(get, { allowance, onWait, expectTime, now: Date.now })
  const together = createTogether(allowed, expectTime, waiting, signal)
  const repeated = createRepeater(sources.base, together.expectTime, together.waiting, isContinued)
  return { ...sources, together, repeated }
}

/** The waiting of a pull, shown while it lasts. */
const shownWaiting = ({ waiting = real, onWait }: PullOptions): Waiting => ({
  ...waiting,
  async wait(ms, cause) {
    const over = onWait?.(ms, cause)
    try {
      await waiting.wait(ms, cause)
    } finally {
      over?.()
    }
  },
})

interface Blob {
  readonly digest: string
  readonly size: number
}

/** @throws RpcError `invalid_image` */
function expectSmall({ config, layers }: { config: Blob; layers: readonly Blob[] }, maxSize: number): void {
  if (layers.length > imageLimits.layers)
    throw new RpcError(
      'invalid_image',
      `the image has ${layers.length} layers; the limit is ${imageLimits.layers}`,
    )
  const size = layers.reduce((sum, each) => sum + each.size, 0)
  if (size > maxSize || config.size > maxManifest)
    throw new RpcError(
      'invalid_image',
      `the image has ${size} bytes; the limit is ${maxSize} (images.maxSize)`,
    )
}
