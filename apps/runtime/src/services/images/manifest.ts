/** The documents of an image (OCI image specification 1.1, and their older names of Docker), as much of them as is needed. */
import { RpcError } from '@selvedge/protocol'
import * as z from 'zod'

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/)
/** Of what is no image: a signature, a bill of materials. */
const artifactType = z.string().optional()

const descriptor = z.object({
  mediaType: z.string().default(''),
  digest,
  size: z.number().int().min(0),
  platform: z.object({ architecture: z.string(), os: z.string() }).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  artifactType,
})

/** Layers of an image, its tags, and characters of a tag: all of them stand in the document of what is deployed. */
export const imageLimits = { layers: 200, tags: 100, tagLength: 300 } as const
/** Indexes that lead to a manifest, one in the other: tools write two. */
const maxIndexes = 4

const manifestDocument = z.object({ config: descriptor, layers: z.array(descriptor).min(1), artifactType })
const indexDocument = z.object({ manifests: z.array(descriptor).min(1) })
/** By what the two differ. A document that is both has a different meaning for each reader (CVE-2021-41190). */
const eitherDocument = z.looseObject({ schemaVersion: z.number().optional() })

type Descriptor = z.infer<typeof descriptor>
export type Manifest = z.infer<typeof manifestDocument>

export const configDocument = z.object({
  architecture: z.string().optional(),
  os: z.string().optional(),
  config: z
    .object({
      Cmd: z.array(z.string()).nullish(),
      Entrypoint: z.array(z.string()).nullish(),
      ExposedPorts: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
  rootfs: z.object({ diff_ids: z.array(digest) }),
})

export type ImageConfig = z.infer<typeof configDocument>

const architectures: Readonly<Record<string, string>> = {
  x64: 'amd64',
  arm64: 'arm64',
  arm: 'arm',
  ia32: '386',
}

/** The name of this machine's architecture in images. */
export const ownArchitecture = (): string => architectures[process.arch] ?? process.arch

/** Media types of the configuration of an image; empty: older tools leave it out. */
const configTypes = new Set([
  '',
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
  'application/octet-stream',
])

const unsupported = (detail: string): RpcError => new RpcError('unsupported_image', detail)
const broken = (detail: string): RpcError => new RpcError('invalid_image', detail)

/**
 * Follows indexes to the manifest for this machine.
 *
 * @param text the first document, an index or a manifest
 * @param what name of the first document, for errors
 * @param read reads the document with a digest, and verifies it
 * @returns the manifest, and the annotations of the first index about it
 * @throws RpcError `invalid_image`, `unsupported_image`, and what `read` throws
 */
export async function findManifest(
  text: string,
  what: string,
  read: (digest: string) => Promise<string>,
): Promise<{ manifest: Manifest; annotations: Readonly<Record<string, string>> }> {
  let annotations: Readonly<Record<string, string>> | undefined
  for (let indexes = 0; ; indexes++) {
    const either = parseDocument(text, eitherDocument, what)
    if (either.schemaVersion === 1)
      throw unsupported(
        'the manifest has the format of Docker before 2016 (schema 1); pull the image with a current tool and push it again',
      )
    if (either.manifests !== undefined && (either.layers ?? either.config) !== undefined)
      throw broken(`${what} is an index and a manifest at once`)
    if (either.manifests === undefined) {
      const manifest = parseDocument(text, manifestDocument, what)
      expectImage(manifest)
      return { manifest, annotations: annotations ?? {} }
    }
    if (indexes === maxIndexes) throw broken(`more than ${maxIndexes} indexes lead to the manifest`)
    const chosen = chooseManifest(parseDocument(text, indexDocument, what).manifests)
    annotations ??= chosen.annotations ?? {}
    what = `the document ${chosen.digest}`
    text = await read(chosen.digest)
  }
}

/** The manifest for this machine, or an index of such manifests. @throws RpcError `unsupported_image` */
function chooseManifest(manifests: readonly Descriptor[]): Descriptor {
  const own = ownArchitecture()
  const images = manifests.filter((each) => !isBesideImage(each))
  const fits = ({ platform }: Descriptor) =>
    platform === undefined || (platform.os === 'linux' && platform.architecture === own)
  const found = images.find(fits)
  if (found) return found
  const offered = images.map(({ platform }) => `${platform?.os}/${platform?.architecture}`).join(', ')
  throw unsupported(`the image is for ${offered || 'no machine'}; this device is linux/${own}`)
}

/** Whether a document belongs to an image, such as an attestation of BuildKit or a signature, and is none. */
const isBesideImage = ({ artifactType, annotations = {}, platform }: Descriptor): boolean =>
  artifactType !== undefined ||
  Object.hasOwn(annotations, 'vnd.docker.reference.type') ||
  platform?.os === 'unknown'

/** @throws RpcError `unsupported_image` for what registries hold beside images, such as charts and signatures */
function expectImage({ artifactType, config }: Manifest): void {
  const { mediaType } = config
  if (artifactType === undefined && configTypes.has(mediaType)) return
  throw unsupported(
    `it is an artifact of type ${JSON.stringify((artifactType ?? mediaType).slice(0, 200))}, and not the image of a container or function`,
  )
}

/** @throws RpcError `invalid_image`, which names the fault and its place */
export function parseDocument<T>(text: string, schema: z.ZodType<T>, what: string): T {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw new RpcError('invalid_image', `${what} is not JSON: ${(cause as Error).message}`, { cause })
  }
  const read = schema.safeParse(json)
  if (read.success) return read.data
  const { path, message } = read.error.issues[0]!
  throw broken(`${what}: ${path.join('.') || 'the document'}: ${message}`)
}
