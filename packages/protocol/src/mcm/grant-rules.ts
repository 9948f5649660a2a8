/**
 * What the operator of a device grants to services beyond their own files: devices, folders, the network of the device, ports on the network,
 * addresses that are not public. Each rule of the configuration is a line: what, and to whom, such as `/dev/ttyUSB0 service=my-project-gpsd`.
 */
import { readIpv4Range } from './outbound.ts'
import { portName, readPortRange } from './ports.ts'
import { isDevice, isFolder } from './settings/files.ts'

const conditionNames = ['service', 'project', 'image', 'account'] as const
type ConditionName = (typeof conditionNames)[number]

/** To whom something is granted: all conditions hold together. */
export type Conditions = Readonly<Partial<Record<ConditionName, string>>>

export interface GrantRule {
  /** A device node, `gpu` or a device of CDI; a folder; a port such as `1883/tcp`; an IPv4 address or network, with or without a port. */
  readonly what: string
  /** Whether a folder may be changed. */
  readonly isWritable: boolean
  readonly to: Conditions
}

/** One of them names what is granted to: an account alone is every service that anyone of it deploys. */
const naming: readonly ConditionName[] = ['service', 'project', 'image']

const isConditionName = (text: string): text is ConditionName =>
  (conditionNames as readonly string[]).includes(text)

function readConditions(words: readonly string[]): Conditions | undefined {
  const to: Partial<Record<ConditionName, string>> = {}
  for (const word of words) {
    const at = word.indexOf('=')
    const name = word.slice(0, Math.max(at, 0))
    const value = word.slice(at + 1)
    if (!isConditionName(name) || value === '' || to[name] !== undefined) return undefined
    to[name] = value
  }
  return naming.some((each) => to[each] !== undefined) ? to : undefined
}

/** Before the port of a rule: it is open to programs of the device alone. */
export const loopbackPort = '127.0.0.1:'

const wordsOf = (text: string): string[] => text.split(' ').filter((each) => each !== '')

function readRule(text: string, isValid: (what: string) => boolean): GrantRule | undefined {
  const [what = '', ...conditions] = wordsOf(text)
  const to = readConditions(conditions)
  return to && isValid(what) ? { what, isWritable: false, to } : undefined
}

/** @returns undefined for a text that is no rule */
export const readDeviceRule = (text: string): GrantRule | undefined => readRule(text, isDevice)

/** A folder is read-only without `:rw`. @returns undefined for a text that is no rule */
export function readMountRule(text: string): GrantRule | undefined {
  const [, path = '', mode] = /^(\/[^: ]*)(?::(r[ow]))?(?= )/.exec(text) ?? []
  const rule = isFolder(path) ? readRule(text, () => true) : undefined
  return rule && { ...rule, what: path, isWritable: mode === 'rw' }
}

/** @returns undefined for a text that is no rule */
export function readNetworkRule(text: string): GrantRule | undefined {
  const to = readConditions(wordsOf(text))
  return to && { what: 'host', isWritable: false, to }
}

/** @returns a rule for each port, of which a text has one or a range; empty for a text that is no rule */
export function readPortRules(text: string): readonly GrantRule[] {
  const [what = ''] = wordsOf(text)
  const address = what.startsWith(loopbackPort) ? loopbackPort : ''
  const ports = readPortRange(what.slice(address.length).replace(':', ' ')) ?? []
  const rule = readRule(text, () => true)
  return rule ? ports.map((port) => ({ ...rule, what: address + portName(port) })) : []
}

/** @returns undefined for a text that is no rule */
export const readAddressRule = (text: string): GrantRule | undefined =>
  readRule(text, (what) => readIpv4Range(what) !== undefined)

const whom = 'service=<id>, project=<client ID> or image=<id or sha256:…>, and optionally account=<id>'

export const expectedRules = {
  devices: `rules such as "/dev/ttyUSB0 service=my-project-gpsd": a device node, "gpu" or a name of CDI such as vendor.com/class=name, then ${whom}`,
  mounts: `rules such as "/srv/media:ro service=my-project-player": a path without links, then ${whom}`,
  hostNetwork: `rules such as "service=my-project-avahi": ${whom}`,
  publish: `rules such as "1883/tcp service=my-project-broker": a port or a range such as 21100-21110, or 127.0.0.1:53/udp for the loopback alone, then ${whom}`,
  outbound: `rules such as "10.1.2.0/24:502 service=my-project-plc": an IPv4 address or network, with or without a port, then ${whom}`,
} as const
