/** Keys about files of a service: volumes, folders of the device, memory, devices. */
import { basename } from 'node:path'
import { appPlanLimits, gpuWord, isCdiName, isDevicePath, usedDevices } from '@selvedge/protocol'
import {
  type At,
  bytesOf,
  flagOf,
  itemsOf,
  membersOf,
  note,
  problem,
  readBytes,
  textOf,
  textsOf,
} from '../at.ts'
import { FileRefusal, type FolderFiles } from '../folder-files.ts'
import { shown } from '../report.ts'
import type { Tree } from '../tree.ts'
import { addConfig, targetPattern } from './data.ts'
import { type Draft, type Keys, refused, type Scope, setSetting, used } from './draft.ts'

interface Mount {
  readonly at: At
  readonly type: 'volume' | 'bind' | 'tmpfs'
  /** Undefined for a volume without a name. */
  readonly source: string | undefined
  readonly target: string
  readonly isReadOnly: boolean
  /** Of memory. */
  readonly bytes: number | undefined
}

const engineSocket = /(?:^|\/)(?:docker|podman|balena(?:-engine)?|containerd|crio)(?:\/[\w.-]+)?\.sock$/

/** Options of a mount that change nothing here: labels of SELinux, consistency of macOS, propagation that is the default. */
const harmlessOptions = [
  'rw',
  'z',
  'Z',
  'cached',
  'delegated',
  'consistent',
  'nocopy',
  'rprivate',
  'private',
  'bind',
  'rbind',
]

/** `source:target:options`, `source:target` or `target`. */
function shortMount(at: At, text: string): Mount | undefined {
  if (/^[A-Za-z]:[\\/]/.test(text))
    return problem(
      at,
      `${shown(text)} is a folder of Windows, which the device does not have. Use a named volume.`,
    )
  const parts = text.split(':')
  if (parts.length > 3 || parts.some((each) => each === ''))
    return problem(at, `${shown(text)} is not a mount. Write source:target or source:target:ro.`)
  const [first = '', second, options = ''] = parts
  const target = second ?? first
  const source = second === undefined ? undefined : first
  const words = options === '' ? [] : options.split(',')
  const unknown = words.find((each) => each !== 'ro' && !harmlessOptions.includes(each))
  if (unknown !== undefined) return problem(at, `The option ${shown(unknown)} is not supported. Remove it.`)
  const isPath = source !== undefined && /^[./~]/.test(source)
  return {
    at,
    type: isPath ? 'bind' : 'volume',
    source,
    target,
    isReadOnly: words.includes('ro'),
    bytes: undefined,
  }
}

const optionsOfLong: Readonly<Record<string, readonly string[]>> = {
  bind: ['create_host_path', 'selinux', 'propagation', 'recursive'],
  volume: ['nocopy', 'labels'],
  tmpfs: ['size', 'mode'],
}

function longMount(at: At): Mount | undefined {
  const members = new Map(
    membersOf(at, 'a text, or a mapping with "type" and "target"').map((each) => [each.name, each]),
  )
  for (const [name, member] of members) {
    if (Object.hasOwn(optionsOfLong, name)) {
      for (const option of membersOf(member))
        if (!optionsOfLong[name]!.includes(option.name))
          problem(option, 'This option is not supported. Remove it.')
        else if (option.name !== 'size') note(option, 'This option changes nothing here.')
    } else if (
      !['type', 'source', 'target', 'read_only', 'consistency'].includes(name) &&
      !name.startsWith('x-')
    )
      problem(member, 'This option is not supported. Remove it.')
  }
  const textIn = (name: string) => {
    const member = members.get(name)
    return member && textOf(member)
  }
  const type = textIn('type')
  const target = textIn('target')
  if (target === undefined) return problem(at, 'The path in the container is missing. Add "target".')
  if (type !== 'volume' && type !== 'bind' && type !== 'tmpfs')
    return problem(at, `The type ${shown(type ?? '')} is not supported. Write volume, bind or tmpfs.`)
  const size = members.get('tmpfs') && sizeIn(members.get('tmpfs')!)
  const readOnly = members.get('read_only')
  return {
    at,
    type,
    source: textIn('source'),
    target,
    isReadOnly: readOnly ? (flagOf(readOnly) ?? false) : false,
    bytes: size,
  }
}

function sizeIn(at: At): number | undefined {
  const size: Tree | undefined = at.tree.kind === 'map' ? at.tree.entries.get('size')?.value : undefined
  return size && bytesOf({ ...at, tree: size })
}

function readVolumes(draft: Draft, at: At, scope: Scope): void {
  for (const item of itemsOf(at)) {
    const text = item.tree.kind === 'scalar' ? textOf(item) : undefined
    const mount = item.tree.kind === 'scalar' ? text !== undefined && shortMount(item, text) : longMount(item)
    if (!mount) continue
    const target = mount.target.replace(/(?<=.)\/$/, '')
    if (!targetPattern.test(target))
      problem(item, `${shown(mount.target)} is not a path in the container. Write one such as /data.`)
    else if (isUsed(draft, target))
      problem(item, `Two mounts have the path ${shown(target)}. Remove one of them.`)
    else addMount(draft, { ...mount, target }, scope)
  }
}

const isUsed = ({ volumes, configs, configFolders, mounts }: Draft, target: string): boolean =>
  volumes.some((each) => each.target === target) ||
  configs.some((each) => each.target === target) ||
  configFolders.some((each) => each.target === target) ||
  mounts.some(({ text }) => text.split(':')[1] === target)

function addMount(draft: Draft, mount: Mount, scope: Scope): void {
  const { at, type, source, target, isReadOnly, bytes } = mount
  if (type === 'tmpfs') addMemory(draft, at, target, bytes)
  else if (type === 'bind') addBind(draft, mount, scope)
  else if (source !== undefined && !scope.has.volumes.has(source))
    problem(
      at,
      `The file has no volume ${shown(source)}. Add it below "volumes", or begin the path of a folder with "./" or "/".`,
    )
  else {
    draft.volumes.push({ volume: source ?? null, target, isReadOnly })
    draft.places.volumes.push(at)
  }
}

function addMemory(draft: Draft, at: At, target: string, bytes: number | undefined): void {
  const mib = bytes === undefined || bytes === 0 ? undefined : Math.max(1, Math.ceil(bytes / 2 ** 20))
  draft.tmpfs.push({ text: mib === undefined ? target : `${target}:${mib}`, at })
}

/** What to write in place of a folder that the service writes to. */
function namedVolume(source: string, target: string): string {
  const name =
    basename(source)
      .replace(/[^A-Za-z0-9_.-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '') || 'data'
  return `For data of the service, write a named volume, "${name}:${target}", and "${name}:" below "volumes" of the file.`
}

/** The app gets a copy of all files in a folder; in the container, the folder has nothing else. */
function addFolder(
  draft: Draft,
  {
    at,
    source,
    target,
    isReadOnly,
  }: Pick<Mount, 'at' | 'target' | 'isReadOnly'> & { readonly source: string },
  { files, addFile }: Scope,
): void {
  const found = listOf(at, source, files)
  if (!found) return
  const { files: names, bytes } = found
  const { configs: maxFiles, allConfigBytes: maxBytes } = appPlanLimits
  if (names.length === 0)
    return void problem(at, `The folder ${shown(source)} is empty. ${namedVolume(source, target)}`)
  if (names.length > maxFiles || bytes > maxBytes)
    return void problem(
      at,
      `The folder ${shown(source)} has ${names.length} files with ${bytes} bytes, and an app gets copies of at most ${maxFiles} with ${maxBytes}. ${namedVolume(source, target)} Put other files into the image.`,
    )
  for (const name of names) {
    const file = addFile(at, `${source}/${name}`)
    if (!file) return
    addConfig(draft, file.name, `${target}/${name}`, at, {
      mode: file.isProgram ? '0555' : '0444',
      uid: 0,
      gid: 0,
    })
  }
  draft.configFolders.push({ target, at })
  const copy = `The app has a copy of the folder, with ${names.length === 1 ? '1 file' : `${names.length} files`}, as it is when the app is deployed.`
  note(
    at,
    isReadOnly
      ? copy
      : `${copy} The service cannot change it: use a named volume for data that the service writes.`,
  )
}

function listOf(at: At, source: string, files: FolderFiles): ReturnType<FolderFiles['list']> | undefined {
  try {
    return files.list(source, at.tree.place.folder)
  } catch (cause) {
    if (cause instanceof FileRefusal) return problem(at, `${shown(source)}: ${cause.message}`)
    throw cause
  }
}

/** Files of the time zone. The container gets copies of both. */
const timeFiles = ['/etc/localtime', '/etc/timezone']

function setLocalTime(draft: Draft, at: At): void {
  draft.settings.set('MCM.LOCAL_TIME', { value: 'true', at })
  note(at, 'The service has the time zone of the device, as it is when the service starts.')
}

/** A folder of the device, or a file or folder beside the Compose file, which the app gets a copy of. */
function addBind(draft: Draft, { at, source = '', target, isReadOnly }: Mount, scope: Scope): void {
  if (engineSocket.test(source))
    return void problem(
      at,
      `${shown(source)} would give the service every container of the device. It is not possible: remove it.`,
    )
  if (timeFiles.includes(source) && source === target) return void setLocalTime(draft, at)
  if (source.startsWith('/')) {
    draft.mounts.push({ text: `${source}:${target}:${isReadOnly ? 'ro' : 'rw'}`, at })
    return void note(at, `The configuration of the device must allow ${shown(source)} with services.mounts.`)
  }
  if (source.startsWith('~'))
    return void problem(
      at,
      `${shown(source)} is in a home folder of this machine. Use a named volume, or the path of a folder of the device.`,
    )
  const kind = scope.files.kindOf(source, at.tree.place.folder)
  if (kind === 'folder') return void addFolder(draft, { at, source, target, isReadOnly }, scope)
  if (kind === 'missing')
    return void problem(
      at,
      `There is no ${shown(source)} here, and the device has no folder of this machine. ${namedVolume(source, target)}`,
    )
  const file = scope.addFile(at, source)
  if (!file) return
  addConfig(draft, file.name, target, at, { mode: file.isProgram ? '0555' : '0444', uid: 0, gid: 0 })
  note(at, `The app has a copy of the file.${isReadOnly ? '' : ' The service cannot change it.'}`)
}

/** `/run:size=64m,mode=1777`: other options than the size change nothing here. */
function readTmpfs(draft: Draft, at: At): void {
  for (const item of textsOf(at)) {
    const [target = '', options = ''] = item.text.split(':')
    const size = /(?:^|,)size=([^,]*)/.exec(options)?.[1]
    const bytes = size === undefined ? undefined : readBytes(size)
    if (size !== undefined && bytes === undefined)
      problem(item, `The size ${shown(size)} is not valid. Write one such as size=64m.`)
    else addMemory(draft, item, target, bytes)
  }
}

/** With Docker, a folder in place of a device means all devices in it. */
const gpuFolder = '/dev/dri'

function readDevices(draft: Draft, at: At): void {
  const devices: string[] = []
  for (const item of itemsOf(at)) {
    const text = item.tree.kind === 'scalar' ? textOf(item) : longDevice(item)
    if (text === undefined) continue
    // The name of a device of CDI may have ":".
    const node = isCdiName(text) ? text : text.replace(/:[rwm]{0,3}$/, '')
    const { source, target } = usedDevices([node])[0]!
    if (source === gpuFolder && target === source) {
      devices.push(gpuWord)
      note(
        item,
        `The service gets the graphics processors ("${gpuWord}"), if services.devices of the device allows it.`,
      )
    } else if (!isCdiName(source) && !(isDevicePath(source) && isDevicePath(target)))
      problem(
        item,
        `${shown(text)} is not a device node. Write a path such as /dev/ttyUSB0, two with a colon, or a name of CDI such as vendor.com/class=name.`,
      )
    else {
      devices.push(target === source ? source : `${source}:${target}`)
      note(item, `The configuration of the device must allow ${source} with services.devices.`)
    }
  }
  if (devices.length > 0) setSetting(draft, 'MCM.DEVICES', [...new Set(devices)].join(', '), at)
}

function longDevice(at: At): string | undefined {
  const members = new Map(
    membersOf(at, 'a path, or a mapping with "source"').map((each) => [each.name, each]),
  )
  const names = ['source', 'target', 'permissions']
  for (const [name, member] of members)
    if (!names.includes(name) && !name.startsWith('x-'))
      problem(member, 'Only source, target and permissions are possible here.')
  const texts = names.map((name) => {
    const member = members.get(name)
    return member && textOf(member)
  })
  if (texts[0] === undefined) return problem(at, 'The path of the device is missing. Add "source".')
  return [texts[0], texts[1] ?? texts[0], texts[2] ?? 'rwm'].join(':')
}

export const storageKeys: Keys = {
  volumes: used(
    'volumes of the app; absolute paths: `MCM.MOUNTS`, if the device allows them; `/etc/localtime` and `/etc/timezone`: `MCM.LOCAL_TIME`; files and folders beside the Compose file: copies of them',
    readVolumes,
  ),
  tmpfs: used('`MCM.TMPFS`', readTmpfs),
  devices: used('`MCM.DEVICES`, if the device allows them', readDevices),
  device_cgroup_rules: refused('Rules for kinds of devices are not supported. Name each node in "devices".'),
  volumes_from: refused('Name the volumes of the other service in "volumes" of this one.'),
  volume_driver: refused('Volumes are folders of the device. Remove it.'),
}
