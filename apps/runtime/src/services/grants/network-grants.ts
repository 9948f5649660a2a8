/** What the configuration of the device grants beyond the loopback and public addresses: ports on the network, addresses that are not public. */
import {
  type Ipv4Range,
  loopbackPort,
  readAddressRule,
  readIpv4Range,
  readPortRules,
} from '@selvedge/protocol'
import { type Asking, isGrantedTo } from './granted-to.ts'

export interface GrantedPorts {
  /** Whether a port may be open to the network. @param port such as `1883/tcp` */
  includes(asking: Asking, port: string): boolean
  /** Whether a privileged port may be open, to the loopback at least. */
  opens(asking: Asking, port: string): boolean
}

/** @param texts of `services.publish`; one that is no rule is ignored */
export function readGrantedPorts(texts: readonly string[]): GrantedPorts {
  const rules = texts.flatMap(readPortRules)
  const includes = (asking: Asking, port: string) =>
    rules.some(({ what, to }) => what === port && isGrantedTo(to, asking))
  return {
    includes,
    opens: (asking, port) => includes(asking, port) || includes(asking, loopbackPort + port),
  }
}

export type GrantedAddresses = (asking: Asking) => readonly Ipv4Range[]

/** @param texts of `services.outbound`; one that is no rule is ignored */
export function readGrantedAddresses(texts: readonly string[]): GrantedAddresses {
  const rules = texts.map(readAddressRule).filter((each) => each !== undefined)
  return (asking) => rules.filter(({ to }) => isGrantedTo(to, asking)).map(({ what }) => readIpv4Range(what)!)
}
