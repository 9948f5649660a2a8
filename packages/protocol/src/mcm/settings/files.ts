/** Folders, devices and files of the device that a container gets. */
import { listOf, maxGiven, withoutRepeats } from './lists.ts'

/** A path without the folders `.` and `..`. */
export const isFolder = (path: string): boolean =>
  path.length <= 200 && /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~+-]+)+$/.test(path)

/** Files that the runtime gives each container. */
export const runtimeFiles = ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf', '/run/.containerenv'] as const

/** Folders of the kernel and of the runtime, which nothing of a container replaces. */
export const isReservedFolder = (path: string): boolean =>
  /^\/(?:proc|sys|dev|run\/(?:selvedge|secrets))(?:\/|$)/.test(path) ||
  runtimeFiles.some((each) => path === each || path.startsWith(`${each}/`))

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

/** A device node, also by one of the names that survive replugging, such as those in `/dev/serial/by-id`. */
export const isDevicePath = (path: string): boolean =>
  path.length <= 200 && /^\/dev(?:\/(?!\.{1,2}(?:\/|$))[\w.+:@=-]+)+$/.test(path)

export function readMemoryFolders(text: string): readonly string[] | undefined {
  const folders = listOf(/^\/[^:]*(?::[1-9]\d{0,4})?$/, text)
  return folders && folders.length <= 16 && folders.every((each) => isFolder(each.split(':')[0]!))
    ? folders
    : undefined
}

/** Word of `MCM.DEVICES` for the graphics processors of the device. */
export const gpuWord = 'gpu'

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
  return devices && devices.length <= maxGiven && devices.every(isDevice) && withoutRepeats(devices)
    ? devices
    : undefined
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
