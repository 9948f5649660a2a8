import { createHmac } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { ContainerSettings } from '@selvedge/protocol'
import type { Plan } from '../engine.ts'
import type { ConfigMount } from './config-files.ts'
import type { EngineTraits } from './engine-traits.ts'
import { deviceSpecs, type Given, mountSpecs } from './given.ts'
import { rangeLabel, usernsMode } from './id-ranges.ts'
import { type ImageConfig, stopSignalOf, userOf } from './image-config.ts'
import { hardOpenFiles } from './open-files.ts'
import { hostNameOf, ownFileMounts } from './own-files.ts'
import { capabilitiesOf, type Users } from './profile.ts'
import { socketName } from './socket-folder.ts'
import { memoryFolders, type Volumes } from './volumes.ts'

/** The settings of a container, as sent to the engine. Everything that affects isolation is explicit. */
const defaultMemoryMb = 512
const mebibyte = 1024 * 1024
const memoryFolder = (megabytes: number): string => `rw,noexec,nosuid,nodev,size=${megabytes * mebibyte}`
/** Size at which the engine replaces its log of the container. The runtime has its own, smaller one. */
const maxLog = '4m'

/** Kernels before 4.11 have no such setting; those of the virtual machines of engines do. */
const hasPortSysctl = () =>
  process.platform !== 'linux' || existsSync('/proc/sys/net/ipv4/ip_unprivileged_port_start')
const hasIpv6 = () => process.platform === 'linux' && existsSync('/proc/sys/net/ipv6')

/** In the network of the device, no setting is its own. */
const sysctlsOf = ({ network, isOfDevice }: Description): Record<string, string> =>
  isOfDevice ? {} : sysctls(network !== undefined)

/** @param hasOwnNetwork it is of IPv4, and so is what keeps containers from the device: link-local addresses would get around it */
const sysctls = (hasOwnNetwork: boolean): Record<string, string> => ({
  // A program that gave up root may listen on any port of its own network.
  ...(hasPortSysctl() && { 'net.ipv4.ip_unprivileged_port_start': '0' }),
  ...(hasOwnNetwork && hasIpv6() && { 'net.ipv6.conf.all.disable_ipv6': '1' }),
})

/** In a user namespace and the network of the device, the kernel allows no `/sys` of its own. */
const sysOfDevice = '/sys:/sys:ro,rbind'

/** Where a container finds its secrets. */
const secretsTarget = '/run/secrets'
/**
 * No core dump shows secrets. The kernel gives a program that receives core dumps even those of limit 0, but not those of limit 1 (core(5)).
 */
const withoutCoreDumps = { Name: 'core', Soft: 1, Hard: 1 }

/** Folder in the container with the socket that the runtime answers on. */
const hostFolder = '/run/selvedge'

export const labels = {
  owner: 'dev.selvedge.owner',
  /** Of a container its key, of a volume the key of the data. */
  container: 'dev.selvedge.container',
  revision: 'dev.selvedge.revision',
  /** Where a container has its own user IDs: the first user ID and the first group ID that it has on the device. */
  ids: 'dev.selvedge.ids',
  /** Proves that this runtime made the container, from exactly this description. */
  proof: 'dev.selvedge.proof',
} as const

export interface Description {
  readonly plan: Plan
  readonly owner: string
  /** Tag of the image in the engine. */
  readonly image: string
  readonly port: number
  /** Folder on this device that holds the instance's socket. */
  readonly folder: string
  /** The container's own network; undefined for the engine's network. */
  readonly network: string | undefined
  /** Whether the port is published to the loopback. */
  readonly isPublished: boolean
  /** It is in the network of the device. */
  readonly isOfDevice?: true
  readonly hasWayOut: boolean
  /** Folder on this device with the files of its secrets. */
  readonly secretsFolder: string | undefined
  /** Files of its app. */
  readonly configMounts: readonly ConfigMount[]
  readonly given: Given
  readonly volumes: Volumes
  readonly config: ImageConfig
  readonly traits: EngineTraits
  readonly users: Users
}

export interface CreateBody {
  readonly Labels: Readonly<Record<string, string>>
}

/**
 * The body of `POST /containers/create`.
 *
 * @param secret of this runtime, for the proof
 */
export function createBody(description: Description, secret: Buffer): CreateBody {
  const { plan, owner, image, port, users, given } = description
  const { key, revision, env } = plan
  const body = {
    Image: image,
    Env: [
      ...Object.entries(given.env)
        .filter(([name]) => !Object.hasOwn(env, name))
        .map(([name, value]) => `${name}=${value}`),
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      `PORT=${port}`,
      `SELVEDGE_SOCKET=${hostFolder}/${socketName}`,
    ],
    Hostname: hostNameOf(plan),
    ...programOf(description),
    ExposedPorts: Object.fromEntries(exposedPorts(description).map((each) => [each, {}])),
    HostConfig: hostConfig(description),
  }
  const proof = createHmac('sha256', secret)
    .update(JSON.stringify([key, revision, body]))
    .digest('hex')
  return {
    ...body,
    Labels: {
      ...usersLabels(users),
      [labels.owner]: owner,
      [labels.container]: key,
      [labels.revision]: String(revision),
      [labels.proof]: proof,
    },
  }
}

/** Ports that the runtime connects to: that of the gateway, and those of MCM.PORTS. */
const exposedPorts = ({ port, plan: { settings } }: Pick<Description, 'port' | 'plan'>): string[] => [
  ...new Set([
    `${port}/tcp`,
    ...settings['MCM.PORTS'].map(({ target, protocol }) => `${target}/${protocol}`),
  ]),
]

/** The label of the users of a container, for it and for its volumes. */
export const usersLabels = (users: Users): Readonly<Record<string, string>> =>
  users.kind === 'own' ? { [labels.ids]: rangeLabel(users.range) } : {}

type Program = Pick<Description, 'plan' | 'config'>

/** The program that is started, with all arguments. */
function commandOf({ plan: { settings }, config: { config } }: Program): readonly string[] {
  const { 'MCM.COMMAND': command, 'MCM.ARGS': args } = settings
  return [...(command ?? config?.Entrypoint ?? []), ...(args ?? (command ? [] : (config?.Cmd ?? [])))]
}

/** What runs in place of the program of the image. */
function programOf({ plan, config }: Program): object {
  const { settings } = plan
  const { 'MCM.COMMAND': command, 'MCM.ARGS': args, 'MCM.USER': user, 'MCM.WORKDIR': folder } = settings
  return {
    ...(command && { Entrypoint: command, Cmd: args ?? [] }),
    ...(!command && args && { Cmd: args }),
    ...(user !== undefined && { User: user }),
    ...(folder !== undefined && { WorkingDir: folder }),
    StopSignal: stopSignalOf(plan, config),
  }
}

/** An engine without the capability CAP_SYS_RESOURCE raises no limit above its own, which usually is that of the runtime. */
function openFilesOf(settings: Pick<ContainerSettings, 'MCM.NOFILE'>): object {
  const most = Math.min(settings['MCM.NOFILE'], hardOpenFiles())
  return { Name: 'nofile', Soft: most, Hard: most }
}

/** Programs that have to be process 1. Any other one gets an init before it: as process 1 it would not get SIGTERM. */
const isInit = ([program = '']: readonly string[]): boolean =>
  /^(?:.*\/)?(?:init|my_init|tini|tini-static|dumb-init|catatonit|docker-init|s6-svscan|systemd)$/.test(
    program,
  )

/**
 * Folders in memory, with their options. `/var/run` is a link to `/run` in nearly all images, and engines follow it: they would mount it over
 * what the runtime and they themselves have in `/run`, or not, as the order of their mounts happens to be.
 */
export function memoryFoldersOf(
  settings: Pick<ContainerSettings, 'MCM.ROOT' | 'MCM.TMPFS'>,
): Record<string, string> {
  const usual = settings['MCM.ROOT'] === 'read-only' ? memoryFolders : []
  const own = settings['MCM.TMPFS'].map((each) => each.split(':') as [string, string?])
  return Object.fromEntries([
    ...usual.map((each) => [withoutLink(each), memoryFolder(64)]),
    ...own.map(([path, megabytes]) => [withoutLink(path), memoryFolder(Number(megabytes ?? 64))]),
  ])
}

const withoutLink = (path: string): string => (path === '/var/run' ? '/run' : path)

function hostConfig(description: Description): object {
  const { plan, folder, network, isPublished, isOfDevice, hasWayOut, volumes, users, traits, config } =
    description
  const { secretsFolder, configMounts, given } = description
  const { settings } = plan
  const isReadOnly = settings['MCM.ROOT'] === 'read-only'
  return {
    ReadonlyRootfs: isReadOnly,
    ...(!isReadOnly &&
      traits.hasQuota && { StorageOpt: { size: String(settings['MCM.ROOT_MB'] * 1024 * 1024) } }),
    ...(users.kind === 'own' && { UsernsMode: usernsMode(users.range) }),
    CapDrop: ['ALL'],
    CapAdd: capabilitiesOf(users, userOf(plan, config), settings['MCM.CAPABILITIES']),
    SecurityOpt: ['no-new-privileges'],
    Memory: (settings['MCM.MEMORY_MB'] ?? defaultMemoryMb) * 1024 * 1024,
    NanoCpus: Math.round(settings['MCM.CPU'] * 1e9),
    PidsLimit: settings['MCM.PIDS'],
    Ulimits: [
      openFilesOf(settings),
      { Name: 'nproc', Soft: 4096, Hard: 4096 },
      ...(secretsFolder === undefined ? [] : [withoutCoreDumps]),
    ],
    Tmpfs: memoryFoldersOf(settings),
    Init: !isInit(commandOf(description)),
    ShmSize: settings['MCM.SHM_MB'] * mebibyte,
    RestartPolicy: { Name: 'no' },
    LogConfig: { Type: 'json-file', Config: { 'max-size': maxLog } },
    ...(network !== undefined && { NetworkMode: network }),
    ...(isOfDevice && { NetworkMode: 'host' }),
    Sysctls: sysctlsOf(description),
    ...(isPublished && {
      PortBindings: Object.fromEntries(
        exposedPorts(description).map((each) => [each, [{ HostIp: '127.0.0.1', HostPort: '' }]]),
      ),
    }),
    // Read-only: a program can still connect to the socket, and cannot replace it.
    Binds: [
      `${folder}:${hostFolder}:ro`,
      ...ownFileMounts(folder, {
        hasOwnNetwork: network !== undefined,
        hasWayOut,
        isPodman: traits.isPodman,
        hasLocalTime: settings['MCM.LOCAL_TIME'],
      }),
      ...(secretsFolder === undefined ? [] : [`${secretsFolder}:${secretsTarget}:ro`]),
      ...configMounts.map(({ path, target }) => `${path}:${target}:ro`),
      ...(isOfDevice ? [sysOfDevice] : []),
      ...mountSpecs(given),
    ],
    ...(given.devices.length > 0 && { Devices: deviceSpecs(given) }),
    Mounts: [...volumes.named, ...volumes.ofImage].map(({ name, target, isReadOnly }) => ({
      Type: 'volume',
      Source: name,
      Target: target,
      ...(isReadOnly && { ReadOnly: true }),
    })),
  }
}
