/** The documents of an image (OCI image specification 1.1, and their older names of Docker), as much of them as is needed. */
import { RpcError } from '@selvedge/protocol'
import * as z from 'zod'

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/)

const descriptor = z.object({
  mediaType: z.string().default(''),
  digest,
  size: z.number().int().min(0),
  platform: z.object({ architecture: z.string(), os: z.string() }).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
})

/** Layers of an image, its tags, and characters of a tag: all of them stand in the document of what is deployed. */
export const imageLimits = { layers: 200, tags: 100, tagLength: 300 } as const

export const manifestDocument = z.object({ config: descriptor, layers: z.array(descriptor).min(1) })
export const indexDocument = z.object({ manifests: z.array(descriptor).min(1) })

export type Index = z.infer<typeof indexDocument>

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

/** The manifest for this machine. @throws RpcError `unsupported_image` */
export function chooseManifest({ manifests }: Index): Index['manifests'][number] {
  const own = ownArchitecture()
  const fits = (each: Index['manifests'][number]) =>
    each.platform === undefined || (each.platform.os === 'linux' && each.platform.architecture === own)
  const found = manifests.find(fits)
  if (found) return found
  const offered = manifests.map(({ platform }) => `${platform?.os}/${platform?.architecture}`).join(', ')
  throw new RpcError('unsupported_image', `the image is for ${offered}; this device is linux/${own}`)
}
