/**
 * What distinguishes this machine from others, so that a copied state folder does not make two devices one node. Both values are
 * hashed: they identify a machine everywhere, and leave the device in no form (machine-id(5)). Only a device that joins an account by a
 * join key states the serial number that is printed on it, once.
 */
import { createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { plainSerial } from '@selvedge/protocol/tokens'

export interface Machine {
  /** Hash of the serial number of the hardware; undefined where this user can read no usable one. */
  readonly hardware?: string | undefined
  /** Hash of /etc/machine-id; undefined without one. */
  readonly system?: string | undefined
}

/** Credential of the systemd unit with the serial number of DMI, which only root reads (systemd.exec(5)). */
const credential = 'hardware-serial'
/** Other serial numbers, the most reliable first. */
const serialFiles = [
  'proc/device-tree/serial-number',
  'sys/class/dmi/id/product_uuid',
  'sys/class/dmi/id/product_serial',
  'sys/class/dmi/id/board_serial',
]
/** Serial numbers as people know them, the most reliable first; no UUID. */
const printedFiles = [serialFiles[0]!, ...serialFiles.slice(2)]
/** Files that a container manager makes in a container: the hardware is that of its host, which has others. */
const containerFiles = ['run/.containerenv', '.dockerenv', 'run/systemd/container']
/** Longest serial number that is read, in characters. */
const maxLength = 200
/** What firmware has in place of a serial number, in lower case without spaces and punctuation. */
const fillers =
  /^(|0+|f+|x+|1?234567890?|none|null|default|defaultstring|system(serialnumber|uuid)|serialnumber|notspecified|notapplicable|notavailable|na|unknown|tobefilledby.*|oem|empty|invalid|03000200040005000006000700080009)$/

/**
 * @param credentials folder of the credentials of the unit; undefined without a unit
 * @param root of the file system; another one in tests
 */
export function thisMachine(credentials: string | undefined, root = '/'): Machine {
  const serial = isContainer(root) ? undefined : serialsOf(credentials, root).find(isSerial)
  const systemId = read(join(root, 'etc/machine-id'))
  return {
    ...(serial !== undefined && { hardware: hashOf(serial) }),
    ...(/^[0-9a-f]{32}$/.test(systemId) && !/^0+$/.test(systemId) && { system: hashOf(systemId) }),
  }
}

/** The serial number of the machine in a form that names can have; undefined without one that this user can read. */
export const serialNumber = (root = '/'): string | undefined =>
  isContainer(root)
    ? undefined
    : printedFiles
        .map((path) => read(join(root, path)))
        .find((serial) => isSerial(serial) && plainSerial(serial) !== '')

const isContainer = (root: string): boolean => containerFiles.some((path) => existsSync(join(root, path)))

/**
 * Whether two descriptions are of one machine. The hardware decides where both have it: a system that is installed again keeps its
 * node, and a disk in another machine does not. What cannot be compared is no evidence.
 */
export function isSameMachine(known: Machine, found: Machine): boolean {
  if (known.hardware !== undefined && found.hardware !== undefined) return known.hardware === found.hardware
  if (known.system !== undefined && found.system !== undefined) return known.system === found.system
  return true
}

const serialsOf = (credentials: string | undefined, root: string): string[] =>
  [
    ...(credentials === undefined ? [] : [join(credentials, credential)]),
    ...serialFiles.map((path) => join(root, path)),
  ].map(read)

/** Text of a file without its line break and NUL; "" if it cannot be read. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1').slice(0, maxLength).replace(/\0/g, '').trim()
  } catch {
    return ''
  }
}

const isSerial = (text: string): boolean => !fillers.test(text.toLowerCase().replace(/[^a-z0-9]/g, ''))

const hashOf = (text: string): string =>
  createHmac('sha256', text).update('selvedge machine').digest('base64url')
