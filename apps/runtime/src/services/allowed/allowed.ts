/**
 * What the owner of the device allows to services, as the configuration lists it: `account=<id> service=<id> <what>`. Each entry is for
 * the services that all its words fit. What is allowed is `1883/tcp` in one list, and `10.1.2.0/24:502` in another one.
 */
import { isIPv4 } from 'node:net'
import { portName, readPortMapping } from '@selvedge/protocol'
import { isAddressOrNetwork } from '@selvedge/service-kit/address-set'
import { idOf } from '../deployments/ownership.ts'

/** The service that wants something. */
export interface Asking {
  readonly accountId: string
  readonly clientId: string
  readonly name: string
  /** Name of its image. */
  readonly image: string
}

interface Allowed {
  readonly isFor: (asking: Asking) => boolean
  readonly what: string
}

/** Words of an entry, with what they compare: IDs are those that `getContainers` and `getImages` return. */
const words: Readonly<Record<string, (asking: Asking) => string>> = {
  account: ({ accountId }) => accountId,
  project: ({ clientId }) => clientId,
  service: idOf,
  image: ({ clientId, image }) => idOf({ clientId, name: image }),
}

/** @returns undefined for a text that is not an entry */
function readEntry(text: string): Allowed | undefined {
  const parts = text.split(/\s+/).filter((each) => each !== '')
  const what = parts.pop()
  if (what === undefined) return undefined
  const wanted = parts.map((part) => {
    const at = part.indexOf('=')
    const name = part.slice(0, Math.max(0, at))
    const value = part.slice(at + 1)
    return Object.hasOwn(words, name) && value !== '' ? { valueOf: words[name]!, value } : undefined
  })
  if (wanted.includes(undefined)) return undefined
  return {
    what,
    isFor: (asking) => wanted.every((each) => each?.valueOf(asking) === each?.value),
  }
}

/** A range of addresses of `services.outbound`. */
export interface AllowedNetwork {
  /** IPv4, such as `10.1.2.0/24` or `10.1.2.3`. */
  readonly network: string
  /** Undefined: all. */
  readonly port: number | undefined
}

function readAllowedNetwork(what: string): AllowedNetwork | undefined {
  const [, network = '', digits] = /^([\d.]+(?:\/\d{1,2})?)(?::([1-9]\d{0,4}))?$/.exec(what) ?? []
  const port = digits === undefined ? undefined : Number(digits)
  const isValid = isAddressOrNetwork(network) && isIPv4(network.split('/')[0]!) && (port ?? 1) < 65_536
  return isValid ? { network, port } : undefined
}

/** Whether a text is an entry of `services.publish`, such as `service=app-broker 1883/tcp`. */
export const isPublishEntry = (text: string): boolean =>
  readPortMapping(readEntry(text)?.what.replace(':', ' ') ?? '') !== undefined

/** Whether a text is an entry of `services.outbound`, such as `service=app-plc 10.1.2.0/24:502`. */
export const isOutboundEntry = (text: string): boolean =>
  readAllowedNetwork(readEntry(text)?.what ?? '') !== undefined

/** Whether a text is an IPv4 address with an optional port. */
export function isNameServer(text: string): boolean {
  const [, address = '', port = '53'] = /^([\d.]+)(?::([1-9]\d{0,4}))?$/.exec(text) ?? []
  return isIPv4(address) && Number(port) < 65_536
}

export interface AllowedPorts {
  /** @param port such as `1883/tcp` */
  includes(asking: Asking, port: string): boolean
}

/** @param entries of `services.publish`; invalid ones are ignored */
export function readAllowedPorts(entries: readonly string[]): AllowedPorts {
  const all = entries.filter(isPublishEntry).map((each) => readEntry(each)!)
  const nameOf = ({ what }: Allowed) => portName(readPortMapping(what)!)
  return { includes: (asking, port) => all.some((each) => nameOf(each) === port && each.isFor(asking)) }
}

export type AllowedNetworks = (asking: Asking) => readonly AllowedNetwork[]

/** @param entries of `services.outbound`; invalid ones are ignored */
export function readAllowedNetworks(entries: readonly string[]): AllowedNetworks {
  const all = entries.filter(isOutboundEntry).map((each) => readEntry(each)!)
  return (asking) => all.filter((each) => each.isFor(asking)).map(({ what }) => readAllowedNetwork(what)!)
}
