/** Folders, devices and files of the device that a container gets. */
import { listOf, maxGiven, withoutRepeats } from './lists.ts'

/** A path without the folders `.` and `..`. */
export const isFolder = (path: string): boolean =>
  path.length <= 200 && /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~+-]+)+$/.test(path)

/** Files that the runtime gives each container. */
export const runtimeFiles = ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf', '/run/.containerenv'] as const

/** Folders of the kernel, and folders and files that the runtime gives each container. */
export const reservedPaths: readonly string[] = [
  ...['/proc', '/sys', '/dev', '/run/selvedge', '/run/secrets'],
  ...runtimeFiles,
]

/** Folders of the kernel and of the runtime, which nothing of a container replaces. */
export const isReservedFolder = (path: string): boolean =>
  reservedPaths.some((each) => path === each || path.startsWith(`${each}/`))

/** A volume of a container. */
interface UsedVolume {
  readonly name: string
  /** In the container. */
  readonly target: string
  readonly isReadOnly: boolean
}

/** The volumes of the setting `MCM.VOLUMES`, in its order. */
export const usedVolumes = (texts: readonly string[]): UsedVolume[] =>
  texts.map((text) => {
    const [name = '', target = '', option] = text.split(':')
    return { name, target, isReadOnly: option === 'ro' }
  })

/** A volume of an app, which its members share. */
export interface UsedAppVolume extends UsedVolume {
  /** Name of the app. */
  readonly app: string
}

/** The volumes of the setting `MCM.APP_VOLUMES`, in its order. */
export const usedAppVolumes = (texts: readonly string[]): UsedAppVolume[] =>
  texts.map((text) => {
    const app = text.slice(0, text.indexOf('/'))
    return { app, ...usedVolumes([text.slice(app.length + 1)])[0]! }
  })

const appVolumePattern = /^[a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?\/[a-z0-9][a-z0-9_-]{0,31}:\/[^:]+(?::ro)?$/
const maxAppVolumes = 64

export function readAppVolumes(text: string): readonly string[] | undefined {
  const volumes = listOf(appVolumePattern, text)
  if (!volumes || volumes.length > maxAppVolumes) return undefined
  const used = usedAppVolumes(volumes)
  const isSound = used.every(
    ({ app, target }) => app === used[0]!.app && isFolder(target) && !isReservedFolder(target),
  )
  const areOnce =
    withoutRepeats(used.map(({ name }) => name)) && withoutRepeats(used.map(({ target }) => target))
  return isSound && areOnce ? volumes : undefined
}

/** A device node, also by one of the names that survive replugging, such as those in `/dev/serial/by-id`. */
export const isDevicePath = (path: string): boolean =>
  path.length <= 200 && !path.includes(':/') && /^\/dev(?:\/(?!\.{1,2}(?:\/|$))[\w.+:@=-]+)+$/.test(path)

export function readMemoryFolders(text: string): readonly string[] | undefined {
  const folders = listOf(/^\/[^:]*(?::[1-9]\d{0,4})?$/, text)
  return folders && folders.length <= 16 && folders.every((each) => isFolder(each.split(':')[0]!))
    ? folders
    : undefined
}

/** Word of `MCM.DEVICES` for the graphics processors of the device. */
export const gpuWord = 'gpu'

/** A device that a container gets. */
export interface UsedDevice {
  /** On the device; {@link gpuWord}; or a name of CDI. */
  readonly source: string
  /** In the container; the same for what is no path. */
  readonly target: string
}

/** The devices of the setting `MCM.DEVICES`, in its order. A name of a device may have colons in it. */
export const usedDevices = (texts: readonly string[]): UsedDevice[] =>
  texts.map((text) => {
    const at = text.indexOf(':/dev/')
    return at < 0 ? { source: text, target: text } : { source: text.slice(0, at), target: text.slice(at + 1) }
  })

/** A device of the Container Device Interface, such as `vendor.com/class=name`: vendor, class and name, as its specification has them. */
export const isCdiName = (text: string): boolean =>
  text.length <= 200 &&
  /^[A-Za-z](?:[\w.-]*[A-Za-z0-9])?\/[A-Za-z](?:[\w.-]*[A-Za-z0-9])?=[A-Za-z0-9](?:[\w.:-]*[A-Za-z0-9])?$/.test(
    text,
  )

/** What `MCM.DEVICES` and rules of `services.devices` name. */
export const isDevice = (text: string): boolean => text === gpuWord || isDevicePath(text) || isCdiName(text)

export function readDevices(text: string): readonly string[] | undefined {
  const devices = listOf(/^[^,\s]+$/, text)
  if (!devices || devices.length > maxGiven) return undefined
  const used = usedDevices(devices)
  const isUsable = ({ source, target }: UsedDevice) =>
    isDevicePath(source) ? isDevicePath(target) : target === source && isDevice(source)
  return used.every(isUsable) && withoutRepeats(used.map(({ target }) => target)) ? devices : undefined
}

/** A folder of the device that a container gets. */
export interface UsedMount {
  /** On the device. */
  readonly source: string
  /** In the container. */
  readonly target: string
  readonly isWritable: boolean
}

/** The folders of the setting `MCM.MOUNTS`, in its order. */
export const usedMounts = (texts: readonly string[]): UsedMount[] =>
  texts.map((text) => {
    const [source = '', target = '', mode] = text.split(':')
    return { source, target, isWritable: mode === 'rw' }
  })

export function readMounts(text: string): readonly string[] | undefined {
  const mounts = listOf(/^\/[^:]+:\/[^:]+(?::r[ow])?$/, text)
  if (!mounts || mounts.length > maxGiven) return undefined
  const used = usedMounts(mounts)
  const isSound = used.every(({ source, target }) => isFolder(source) && isFolder(target))
  return isSound && withoutRepeats(used.map(({ target }) => target)) ? mounts : undefined
}
