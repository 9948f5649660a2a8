/** How an image is to run. Only this much of its configuration reaches the engine. */
import { RpcError } from '@selvedge/protocol'
import * as z from 'zod'
import type { Blobs } from '../../images/blobs.ts'
import type { Plan } from '../engine.ts'

const defaultPort = 8080

/**
 * The image configuration (OCI image specification 1.1), without labels, health checks, stop signals and volumes: these would
 * make the engine, or programs that watch it, act on behalf of the image.
 */
const program = z.object({
  Env: z.array(z.string()).nullish(),
  Entrypoint: z.array(z.string()).nullish(),
  Cmd: z.array(z.string()).nullish(),
  WorkingDir: z.string().nullish(),
  User: z.string().nullish(),
})
const platform = z.object({
  architecture: z.string().optional(),
  variant: z.string().optional(),
  os: z.string().optional(),
  rootfs: z.object({ type: z.string().optional(), diff_ids: z.array(z.string()) }),
})
const read = platform.extend({
  config: program
    .extend({
      ExposedPorts: z.record(z.string(), z.unknown()).nullish(),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
})

export type ImageConfig = z.infer<typeof read>

/** @throws RpcError `digest_mismatch`; `container_failed` when the configuration is not one */
export async function readImageConfig(
  blobs: Blobs,
  { content }: Pick<Plan, 'content'>,
): Promise<ImageConfig> {
  const chunks: Uint8Array[] = []
  for await (const chunk of blobs.read(content.config.digest)) chunks.push(chunk)
  try {
    return read.parse(JSON.parse(Buffer.concat(chunks).toString()))
  } catch (cause) {
    throw new RpcError('container_failed', 'the configuration of the image is not one', { cause })
  }
}

/** Programs of such images, databases for example, expect that no other one has their files open. */
export const declaresVolumes = ({ config }: ImageConfig): boolean =>
  Object.keys(config?.Volumes ?? {}).length > 0

/** The configuration that the engine gets, as JSON. */
export const engineConfig = (config: ImageConfig): Buffer =>
  Buffer.from(JSON.stringify({ ...platform.parse(config), config: program.parse(config.config ?? {}) }))

/** The port that the service listens on: the setting, or what the image exposes, or 8080. @throws RpcError `container_failed` */
export function portOf({ settings }: Plan, { config }: ImageConfig): number {
  if (settings['MCM.PORT'] !== undefined) return settings['MCM.PORT']
  const [exposed] = Object.keys(config?.ExposedPorts ?? {}).filter((each) => !each.endsWith('/udp'))
  if (exposed === undefined) return defaultPort
  const port = /^(\d{1,5})(?:\/tcp)?$/.exec(exposed)?.[1]
  if (port !== undefined && Number(port) >= 1 && Number(port) <= 65_535) return Number(port)
  throw new RpcError(
    'container_failed',
    `the image exposes ${JSON.stringify(exposed.slice(0, 80))}, which is no TCP port; set MCM.PORT`,
  )
}
