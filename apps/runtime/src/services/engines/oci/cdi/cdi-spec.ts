/**
 * One file of the Container Device Interface (https://github.com/cncf-tags/container-device-interface, SPEC.md), and what a device of it gives to a
 * container: device nodes, folders and files of the device, variables. What else a file may have, such as hooks, is refused by its name: the API of
 * the engine has no place for it.
 */
import { isCdiName, isDevicePath, isFolder, type UsedMount } from '@selvedge/protocol'
import * as z from 'zod'

interface CdiNode {
  /** The same on the device and in the container. */
  readonly path: string
  /** `r`, `w` or `rw`. No container makes nodes. */
  readonly access: string
}

interface CdiMount extends UsedMount {
  /** Whether programs in it can be started. */
  readonly isExecutable: boolean
}

/** What a container gets with one device of a file. */
export interface CdiDevice {
  readonly nodes: readonly CdiNode[]
  readonly mounts: readonly CdiMount[]
  readonly env: Readonly<Record<string, string>>
}

/** Parts of one device at most. */
const most = { devices: 1024, nodes: 64, mounts: 128, variables: 64, characters: 4096 }

/** A text in YAML. The engine uses the numbers of the device itself. */
const number = z.union([z.int(), z.string().regex(/^(?:0o)?\d{1,10}$/)])
const devicePath = z.string().refine(isDevicePath)
const folder = z.string().refine(isFolder)

/**
 * The engine gives nodes with the type, the numbers, the owner and the mode that they have on the device, and in a user namespace (runc 1.1) only
 * under the path that they have there.
 */
const node = z
  .strictObject({
    path: devicePath,
    hostPath: devicePath.optional(),
    type: z.enum(['', 'b', 'c', 'u', 'p']).optional(),
    ...{ major: number.optional(), minor: number.optional(), fileMode: number.optional() },
    permissions: z
      .string()
      .regex(/^(?:(?:rw?|w)m?)?$/)
      .optional(),
    ...{ uid: number.optional(), gid: number.optional() },
  })
  .refine(({ path, hostPath = path }) => path === hostPath)

/** All of them are without devices and set-user-ID programs. Nothing is mounted below what a container gets, so `rbind` is `bind`. */
const options = [
  'bind',
  'rbind',
  'noexec',
  'nodev',
  'nosuid',
  'private',
  'ro',
  'rprivate',
  'rslave',
  'rw',
  'slave',
] as const

const mount = z.strictObject({
  hostPath: folder,
  containerPath: folder,
  options: z.array(z.enum(options)).max(options.length).optional(),
  type: z
    .string()
    .regex(/^(?:bind|none)?$/)
    .optional(),
})

const variable = z
  .string()
  .max(most.characters)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*=[^\0]*$/)

const edits = z.strictObject({
  env: z.array(variable).max(most.variables).optional(),
  deviceNodes: z.array(node).max(most.nodes).optional(),
  mounts: z.array(mount).max(most.mounts).optional(),
})

/** The edits are checked when a container gets them: another device of the file may have what no container gets. */
const file = z.object({
  cdiVersion: z.string().regex(/^(?:0\.[3-9]|1\.\d{1,2})\.\d{1,2}$/),
  kind: z.string().max(200),
  devices: z
    .array(z.object({ name: z.string().max(200), containerEdits: z.unknown().optional() }))
    .max(most.devices),
  containerEdits: z.unknown().optional(),
})

/** A file, and the names of its devices. */
export interface CdiFile {
  readonly names: readonly string[]
  /** @param name one of `names` @throws Error with what no container gets */
  deviceOf(name: string): CdiDevice
}

/** @param content of the file, without members that are null @throws Error with what is wrong */
export function readCdiFile(content: unknown): CdiFile {
  const read = file.safeParse(content)
  if (!read.success) throw new Error(`${pathOf(read.error)} is not as the specification has it`)
  const { kind, devices, containerEdits } = read.data
  const nameOf = (device: string) => `${kind}=${device}`
  const names = devices.map(({ name }) => nameOf(name))
  const wrong = names.find((each) => !isCdiName(each))
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not a name of a device`)
  if (new Set(names).size < names.length) throw new Error('it has a device twice')
  return {
    names,
    deviceOf(name) {
      const found = devices.find((each) => nameOf(each.name) === name)
      const all = [readEdits(containerEdits), readEdits(found?.containerEdits)]
      return {
        nodes: all.flatMap(({ deviceNodes = [] }) => deviceNodes.map(usedNode)),
        mounts: all.flatMap((each) => (each.mounts ?? []).map(usedMount)),
        env: Object.fromEntries(all.flatMap(({ env = [] }) => env.map(splitVariable))),
      }
    },
  }
}

function readEdits(value: unknown): z.output<typeof edits> {
  const read = edits.safeParse(value ?? {})
  if (read.success) return read.data
  const [issue] = read.error.issues
  if (issue?.code === 'unrecognized_keys' && issue.path.length === 0)
    throw new Error(`its file has ${issue.keys.slice(0, 4).join(', ')}, which no container gets`)
  throw new Error(`its file has a value of ${pathOf(read.error)} that no container gets`)
}

const pathOf = ({ issues }: z.ZodError): string => issues[0]?.path.join('.') || 'it'

const usedNode = ({ path, permissions }: z.output<typeof node>): CdiNode => ({
  path,
  access: (permissions || 'rw').replace('m', ''),
})

/** Writable only with the option. */
const usedMount = ({ hostPath, containerPath, options: given = [] }: z.output<typeof mount>): CdiMount => ({
  source: hostPath,
  target: containerPath,
  isWritable: given.includes('rw') && !given.includes('ro'),
  isExecutable: !given.includes('noexec'),
})

function splitVariable(text: string): [name: string, value: string] {
  const at = text.indexOf('=')
  return [text.slice(0, at), text.slice(at + 1)]
}
