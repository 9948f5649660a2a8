/** How an image is to run. Only this much of its configuration reaches the engine. */
import { containerSettings, isHttpPort, RpcError } from '@selvedge/protocol'
import * as z from 'zod'
import type { Blobs } from '../../images/blobs.ts'
import type { Plan } from '../engine.ts'

const defaultPort = 8080

/**
 * The image configuration (OCI image specification 1.1), without labels, health checks and volumes: these would
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
      StopSignal: z.string().nullish(),
      /** Not of the OCI specification; images in the format of Docker have it. */
      Healthcheck: z
        .object({ Test: z.array(z.string()).nullish() })
        .nullish()
        .catch(undefined),
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

/** Signals of images by number (signal(7)); those of the setting by name. */
const signalNumbers: Readonly<Record<string, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  9: 'SIGKILL',
  10: 'SIGUSR1',
  12: 'SIGUSR2',
  15: 'SIGTERM',
  28: 'SIGWINCH',
  30: 'SIGPWR',
  37: 'SIGRTMIN+3',
}

/** The signal that stops a container: the setting, or that of the image, if it ends a program in order; else SIGTERM. */
export function stopSignalOf({ settings }: Pick<Plan, 'settings'>, { config }: ImageConfig): string {
  const asked = config?.StopSignal ?? ''
  const named = signalNumbers[asked] ?? (asked.startsWith('SIG') ? asked : `SIG${asked}`)
  const { read } = containerSettings['MCM.STOP_SIGNAL']
  return settings['MCM.STOP_SIGNAL'] ?? read(named) ?? 'SIGTERM'
}

/** The user that a container starts as: the setting, or that of the image; empty for root. */
export const userOf = ({ settings }: Pick<Plan, 'settings'>, { config }: ImageConfig): string =>
  settings['MCM.USER'] ?? config?.User ?? ''

/** The command that checks the health of a container: the setting, or that of the image; undefined without one. */
export function healthCommandOf(
  { settings }: Pick<Plan, 'settings'>,
  { config }: ImageConfig,
): readonly string[] | undefined {
  const own = settings['MCM.HEALTH_CMD']
  if (own) return own.length > 0 ? own : undefined
  const [kind, ...command] = config?.Healthcheck?.Test ?? []
  if (command[0] === undefined) return undefined
  if (kind === 'CMD-SHELL') return ['/bin/sh', '-c', command[0]]
  return kind === 'CMD' ? command : undefined
}

/** Programs of such images, databases for example, expect that no other one has their files open. */
export const declaresVolumes = ({ config }: ImageConfig): boolean =>
  Object.keys(config?.Volumes ?? {}).length > 0

/** The configuration that the engine gets, as JSON. */
export const engineConfig = (config: ImageConfig): Buffer =>
  Buffer.from(JSON.stringify({ ...platform.parse(config), config: program.parse(config.config ?? {}) }))

/** The TCP ports that an image exposes. @throws RpcError `container_failed` if the first is another one */
function exposedPorts({ config }: Pick<ImageConfig, 'config'>): readonly number[] {
  const exposed = Object.keys(config?.ExposedPorts ?? {}).filter((each) => !each.endsWith('/udp'))
  const ports = exposed.flatMap((each) => Number(/^(\d{1,5})(?:\/tcp)?$/.exec(each)?.[1] ?? 0))
  const [first = 1] = ports
  if (isPort(first)) return ports.filter(isPort)
  throw new RpcError(
    'container_failed',
    `the image exposes ${JSON.stringify(exposed[0]!.slice(0, 80))}, which is no TCP port; set MCM.PORT`,
  )
}

const isPort = (port: number): boolean => port >= 1 && port <= 65_535

/** The port that the service listens on: the setting, or what the image exposes, of several the one for HTTP, or 8080. @throws RpcError `container_failed` */
export const portOf = ({ settings }: Pick<Plan, 'settings'>, image: Pick<ImageConfig, 'config'>): number => {
  if (settings['MCM.PORT'] !== undefined) return settings['MCM.PORT']
  const ports = exposedPorts(image)
  return ports.find(isHttpPort) ?? ports[0] ?? defaultPort
}

/** Ports of an image that a message names, and that are tried. */
const mostPorts = 8

/**
 * The ports of which one has to accept connections before the service is ready. Images expose ports that nothing listens on by default, such as
 * those of TLS or of FTP data.
 */
export function readyPortsOf(
  plan: Pick<Plan, 'settings'>,
  image: Pick<ImageConfig, 'config'>,
): readonly number[] {
  const port = portOf(plan, image)
  const isChosen = plan.settings['MCM.PORT'] !== undefined || isHttpPort(port)
  return isChosen ? [port] : [...new Set([port, ...exposedPorts(image)])].slice(0, mostPorts)
}

/** The port of `portOf` in a message, and what it was chosen from: an image that exposes several often has another one for its service. */
export function portInWords(plan: Pick<Plan, 'settings'>, image: Pick<ImageConfig, 'config'>): string {
  const port = portOf(plan, image)
  if (plan.settings['MCM.PORT'] !== undefined) return `${port} (MCM.PORT)`
  const exposed = exposedPorts(image)
  const shown = exposed.slice(0, mostPorts).join(', ')
  if (exposed.length === 1) return `${port} (MCM.PORT)`
  return `${port} (MCM.PORT; its image exposes ${exposed.length === 0 ? 'no port' : shown})`
}

/**
 * When the start is complete: the setting, or when the port accepts connections. An image that exposes UDP ports only has no such port, and
 * its start is complete at once.
 */
export function readyOf(
  { settings }: Pick<Plan, 'settings'>,
  { config }: Pick<ImageConfig, 'config'>,
): string {
  const exposed = Object.keys(config?.ExposedPorts ?? {})
  const isUdpOnly = exposed.length > 0 && exposed.every((each) => each.endsWith('/udp'))
  return settings['MCM.READY'] ?? (isUdpOnly && settings['MCM.PORT'] === undefined ? 'none' : 'tcp')
}
