/** Ports of the device that lead to ports of an OCI container: the value of `MCM.PORTS`. */
import * as z from 'zod'

export const portProtocols = ['tcp', 'udp'] as const
export type PortProtocol = (typeof portProtocols)[number]

/** One entry of `MCM.PORTS`. */
export interface PortMapping {
  /** Port of the device, 1 to 65535. */
  readonly port: number
  readonly protocol: PortProtocol
  /** Port that the container listens on, 1 to 65535. */
  readonly target: number
}

/** Ports of one container. */
const maxPorts = 16
const entryPattern = /^([1-9]\d{0,4})(?::([1-9]\d{0,4}))?(?:\/(tcp|udp))?$/

/** How a port is written: `1883/tcp`. No two ports of a device are written in the same way. */
export const portName = ({ port, protocol }: Pick<PortMapping, 'port' | 'protocol'>): string =>
  `${port}/${protocol}`

/** @returns undefined for a text that is not `<port>[:<port of the container>][/tcp|/udp]` */
export function readPortMapping(text: string): PortMapping | undefined {
  const [, device, container, protocol] = entryPattern.exec(text) ?? []
  const port = Number(device)
  const target = Number(container ?? device)
  if (device === undefined || port > 65_535 || target > 65_535) return undefined
  return { port, protocol: protocol === 'udp' ? 'udp' : 'tcp', target }
}

/** @returns undefined for a text with an invalid entry, the same port twice, or more than 16 ports */
export function readPortMappings(text: string): readonly PortMapping[] | undefined {
  const parts = text.split(/[\s,]+/).filter((each) => each !== '')
  if (parts.length > maxPorts) return undefined
  const mappings = parts.map(readPortMapping).filter((each) => each !== undefined)
  const names = new Set(mappings.map(portName))
  return mappings.length === parts.length && names.size === parts.length ? mappings : undefined
}

/** A port of `MCM.PORTS` as the API shows it. */
export const portRecord = z.object({
  port: z.number().int().describe('Port of the device'),
  protocol: z.enum(portProtocols),
  target: z.number().int().describe('Port of the container'),
  reach: z
    .enum(['loopback', 'network'])
    .describe('Who reaches it: programs of the device, or also the network (`services.publish`)'),
  problem: z.string().nullable().describe('Why it is not open; null while it is'),
})

export type PortRecord = z.infer<typeof portRecord>
