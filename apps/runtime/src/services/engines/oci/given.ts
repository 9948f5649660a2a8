/**
 * What a container gets of the device beyond its own files: devices (`MCM.DEVICES`) and folders (`MCM.MOUNTS`). Each is opened once and
 * checked. The engine gets its path, and before the program starts, the runtime compares what the container has with what is open.
 */
import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import {
  type ContainerSettings,
  gpuWord,
  isCdiName,
  RpcError,
  type UsedDevice,
  type UsedMount,
  usedDevices,
  usedMounts,
} from '@selvedge/protocol'
import * as answers from './answers.ts'
import type { CdiDevice } from './cdi/cdi-spec.ts'
import { CdiRefused, findCdiDevice } from './cdi/find-cdi-device.ts'
import type { EngineApi } from './engine-api.ts'
import type { EngineTraits } from './engine-traits.ts'
import { whyForbidden } from './forbidden-paths.ts'
import { type HeldPath, holdPath, PathRefused } from './held-path.ts'
import type { Users } from './profile.ts'

/** Major number of the memory of the device; of its devices, those that show it or its log. */
const memoryMajor = 1
const memoryMinors = [1, 2, 4, 11]

interface GivenDevice {
  readonly target: string
  /** Whether it is a mount of a node that the container has under the path of the device, too. */
  readonly isMount: boolean
  /** `r`, `w` or `rw`. */
  readonly access: string
  readonly held: HeldPath
}

interface GivenMount {
  readonly target: string
  readonly isWritable: boolean
  /** Whether programs in it can be started. */
  readonly isExecutable: boolean
  readonly held: HeldPath
}

/** Devices and folders of one instance, open until its program starts. */
export interface Given {
  readonly devices: readonly GivenDevice[]
  readonly mounts: readonly GivenMount[]
  /** Variables that come with its devices. */
  readonly env: Readonly<Record<string, string>>
  close(): void
}

const nothingGiven: Given = { devices: [], mounts: [], env: {}, close: () => undefined }

interface GivenParts {
  readonly settings: Pick<ContainerSettings, 'MCM.DEVICES' | 'MCM.MOUNTS'>
  readonly traits: EngineTraits
  readonly users: Users
  /** Paths of this runtime and of the engine, which no container gets. */
  readonly own: readonly string[]
  /** Folders with files of the Container Device Interface. */
  readonly cdiFolders: readonly string[]
}

/** Whether a container can get something of the device here. Never where the engine has a virtual machine. */
export const canGive = ({ isPodman, isRootless }: Pick<EngineTraits, 'isPodman' | 'isRootless'>): boolean =>
  process.platform === 'linux' && isPodman && !isRootless && process.getuid?.() === 0

/**
 * Opens what the settings name.
 *
 * @throws RpcError `container_failed` for what no container gets, `engine_unavailable` for a device or a folder that is not there at
 * present: the start is tried again
 */
export async function holdGiven({ settings, traits, users, own, cdiFolders }: GivenParts): Promise<Given> {
  const { 'MCM.DEVICES': devices, 'MCM.MOUNTS': mounts } = settings
  if (devices.length === 0 && mounts.length === 0) return nothingGiven
  if (!canGive(traits))
    throw new RpcError(
      'container_failed',
      'MCM.DEVICES and MCM.MOUNTS need a runtime and a Podman that run as root',
    )
  const held: HeldPath[] = []
  const close = () => {
    for (const each of held) each.close()
  }
  const hold = (setting: string, path: string, check: (opened: HeldPath) => string | undefined) => {
    const opened = open(setting, path)
    held.push(opened)
    const problem = check(opened)
    if (problem !== undefined) throw new RpcError('container_failed', `${setting} has ${path}: ${problem}`)
    return opened
  }
  const mountOf = (setting: string, mount: UsedMount, isExecutable = true): GivenMount => ({
    ...{ target: mount.target, isWritable: mount.isWritable, isExecutable },
    held: hold(setting, mount.source, (opened) => whyNoMount(opened, mount.target, own)),
  })
  try {
    const wanted: WantedDevice[] = []
    for (const each of usedDevices(devices)) wanted.push(await deviceOf(each, cdiFolders))
    expectOnce(wanted, usedMounts(mounts))
    return {
      devices: wanted.flatMap(({ nodes }) =>
        nodes.flatMap(({ source, target, access }) => {
          const held = hold('MCM.DEVICES', source, (opened) => whyNoDevice(opened, users))
          return devicesOf({ held, source, target, access })
        }),
      ),
      mounts: [
        ...wanted.flatMap((each) =>
          each.mounts.map((mount) => mountOf('MCM.DEVICES', mount, mount.isExecutable)),
        ),
        ...usedMounts(mounts).map((mount) => mountOf('MCM.MOUNTS', mount)),
      ],
      env: Object.assign({}, ...wanted.map(({ env }) => env)),
      close,
    }
  } catch (cause) {
    close()
    throw cause
  }
}

function open(setting: string, path: string): HeldPath {
  try {
    return holdPath(path)
  } catch (cause) {
    if (!(cause instanceof PathRefused)) throw cause
    const detail = `${setting} has ${path}: ${cause.message}`
    if (!cause.isMissing) throw new RpcError('container_failed', detail, { cause })
    throw new RpcError('engine_unavailable', `${detail}; ${whatIsThere(path)}`, {
      cause,
      hint: 'Connect the device, or correct the setting. A deployed service starts when it is there.',
    })
  }
}

/** Entries beside a missing path that are shown. */
const maxShown = 20

function whatIsThere(path: string): string {
  const folder = dirname(path)
  const word = /^[A-Za-z]+/.exec(basename(path))?.[0] ?? ''
  try {
    const all = readdirSync(folder).toSorted()
    const alike = all.filter((each) => each.startsWith(word))
    const shown = (alike.length > 0 ? alike : all).slice(0, maxShown)
    return shown.length === 0 ? `${folder} is empty` : `${folder} has ${shown.join(', ')}`
  } catch {
    return `${folder} is not there`
  }
}

/** What an entry of `MCM.DEVICES` gives. */
interface WantedDevice extends Omit<CdiDevice, 'nodes'> {
  readonly nodes: readonly (UsedDevice & Pick<GivenDevice, 'access'>)[]
}

const fullAccess = 'rw'

/** Nodes and mounts of one container at most: each is open until it starts. */
const maxParts = 256

/** @throws RpcError `container_failed` if two of them have the same path in the container */
function expectOnce(wanted: readonly WantedDevice[], mounts: readonly UsedMount[]): void {
  const targets = [
    ...wanted.flatMap(({ nodes, mounts }) => [...nodes, ...mounts].map(({ target }) => target)),
    ...mounts.map(({ target }) => target),
  ]
  const twice = targets.find((each, at) => targets.indexOf(each) < at)
  if (twice !== undefined)
    throw new RpcError('container_failed', `MCM.DEVICES and MCM.MOUNTS have two things for ${twice}`)
  if (targets.length > maxParts)
    throw new RpcError(
      'container_failed',
      `MCM.DEVICES has ${targets.length} nodes and folders; the limit is ${maxParts}`,
    )
}

async function deviceOf(device: UsedDevice, cdiFolders: readonly string[]): Promise<WantedDevice> {
  const { source } = device
  if (!isCdiName(source))
    return { nodes: nodesOf(device).map((each) => ({ ...each, access: fullAccess })), mounts: [], env: {} }
  try {
    const { nodes, ...others } = await findCdiDevice(source, cdiFolders)
    return { ...others, nodes: nodes.map(({ path, access }) => ({ source: path, target: path, access })) }
  } catch (cause) {
    if (!(cause instanceof CdiRefused)) throw cause
    const detail = `MCM.DEVICES has ${source}: ${cause.message}`
    if (!cause.isMissing) throw new RpcError('container_failed', detail, { cause })
    throw new RpcError('engine_unavailable', detail, {
      cause,
      hint: 'Write the file of the device, or correct the setting. A deployed service starts when it is there.',
    })
  }
}

const gpuFolder = '/dev/dri'

function nodesOf(device: UsedDevice): UsedDevice[] {
  if (device.source !== gpuWord) return [device]
  let names: string[] = []
  try {
    names = readdirSync(gpuFolder).filter((each) => /^(?:card|renderD)\d+$/.test(each))
  } catch {
    // Without a graphics processor the folder is missing.
  }
  if (names.length === 0)
    throw new RpcError(
      'engine_unavailable',
      `MCM.DEVICES has gpu, and ${gpuFolder} has no graphics processor`,
    )
  return names.toSorted().map((each) => {
    const path = join(gpuFolder, each)
    return { source: path, target: path }
  })
}

/** Numbers of a device node, as makedev(3) joins them. */
const numbersOf = ({ rdev }: { readonly rdev: number }) => ({
  major: (rdev >>> 8) & 0xfff,
  minor: (rdev & 0xff) | ((rdev >>> 12) & 0xfff00),
})

/** The mode of a device that every user may open. */
const forAll = 0o006

function whyNoDevice({ stats }: HeldPath, users: Users): string | undefined {
  if (stats.isBlockDevice()) return 'it is a disk, which no container gets; give it a folder with MCM.MOUNTS'
  if (stats.isDirectory()) return 'it is a folder, so name each device node in it'
  if (!stats.isCharacterDevice()) return 'it is not a device'
  const { major, minor } = numbersOf(stats)
  if (major === memoryMajor && memoryMinors.includes(minor))
    return 'it shows the memory or the log of the device, which no container gets'
  return users.kind === 'own' && (stats.mode & forAll) !== forAll
    ? 'its mode does not let every user open it, and root in the container is no user of the device; give it the mode 0666, such as with a udev rule'
    : undefined
}

/** Folders of a container that no folder of the device replaces. */
const reservedTargets = ['/proc', '/sys', '/dev', '/run/selvedge', '/run/secrets']

function whyNoMount(held: HeldPath, target: string, own: readonly string[]): string | undefined {
  const { stats } = held
  if (!stats.isDirectory() && !stats.isFile() && !stats.isSocket()) return 'it is neither a folder nor a file'
  const reserved = reservedTargets.find(
    (each) => target === each || target.startsWith(`${each}/`) || each.startsWith(`${target}/`),
  )
  if (reserved !== undefined) return `the container has its own ${reserved}`
  return whyForbidden(held, own)
}

/** In a user namespace, runc can make a node only under the path that the device has it under. */
const devicesOf = ({
  source,
  target,
  ...given
}: UsedDevice & Omit<GivenDevice, 'isMount'>): GivenDevice[] => [
  { ...given, target: source, isMount: false },
  ...(target === source ? [] : [{ ...given, target, isMount: true }]),
]

/** For the engine. */
export const deviceSpecs = ({ devices }: Given): object[] =>
  devices
    .filter(({ isMount }) => !isMount)
    .map(({ target, access, held }) => ({
      PathOnHost: held.path,
      PathInContainer: target,
      CgroupPermissions: access,
    }))

/** For the engine: folders without devices and set-user-ID programs in them, and further paths of devices. */
export const mountSpecs = ({ devices, mounts }: Given): string[] => [
  ...mounts.map(
    ({ target, isWritable, isExecutable, held }) =>
      `${held.path}:${target}:${isWritable ? 'rw' : 'ro'},bind,nosuid,nodev${isExecutable ? '' : ',noexec'}`,
  ),
  ...devices
    .filter(({ isMount }) => isMount)
    .map(({ target, held }) => `${held.path}:${target}:rw,bind,nosuid,noexec`),
]

/**
 * Prepares the container up to the start of its program, and compares what it has with what was checked: a path may lead elsewhere since.
 *
 * @param name of the container, which is created
 * @throws RpcError `container_failed`
 */
export async function verifyGiven(api: EngineApi, name: string, given: Given): Promise<void> {
  if (given.devices.length === 0 && given.mounts.length === 0) return
  const pid = await preparedPid(api, name)
  const refuse = (target: string) => {
    throw new RpcError(
      'container_failed',
      `${target} of the container is not what was checked; it is not started`,
    )
  }
  for (const { target, held } of given.devices)
    if (inside(pid, target, ({ stats }) => stats.rdev) !== held.stats.rdev) refuse(target)
  for (const { target, held } of given.mounts)
    if (
      inside(pid, target, ({ stats }) => `${stats.dev} ${stats.ino}`) !==
      `${held.stats.dev} ${held.stats.ino}`
    )
      refuse(target)
}

async function preparedPid(api: EngineApi, name: string): Promise<number> {
  const read = async () => (await api.read(`/containers/${name}/json`, answers.inspected)).State.Pid
  const running = await read()
  if (running) return running
  await api.send('POST', `/libpod/containers/${name}/init`)
  const pid = await read()
  if (pid) return pid
  throw new RpcError('engine_unavailable', 'the engine did not prepare the container before its start')
}

/** What a container has at a path; undefined for nothing. A link there is not followed. */
function inside<T>(pid: number, target: string, read: (opened: HeldPath) => T): T | undefined {
  try {
    const opened = holdPath(target, `/proc/${pid}/root/`)
    try {
      return read(opened)
    } finally {
      opened.close()
    }
  } catch {
    return undefined
  }
}
