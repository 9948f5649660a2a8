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

const rangePattern = /^(\d{1,5})-(\d{1,5})(?::(\d{1,5})-(\d{1,5}))?(\/(?:tcp|udp))?$/

/** @returns the ports of an entry, which may be a range such as `3000-3010:4000-4010/udp`; undefined for an invalid one */
export function readPortRange(text: string): readonly PortMapping[] | undefined {
  const [, first, last, target = first, lastTarget = last, protocol = ''] = rangePattern.exec(text) ?? []
  const count = first === undefined ? 1 : Number(last) - Number(first) + 1
  if (
    count < 1 ||
    count > maxPorts ||
    (first !== undefined && Number(lastTarget) - Number(target) + 1 !== count)
  )
    return undefined
  const texts =
    first === undefined
      ? [text]
      : Array.from({ length: count }, (_, at) => `${+first + at}:${+target! + at}${protocol}`)
  const mappings = texts.map(readPortMapping).filter((each) => each !== undefined)
  return mappings.length === count ? mappings : undefined
}

/** @returns undefined for a text with an invalid entry, the same port twice, or more than 16 ports */
export function readPortMappings(text: string): readonly PortMapping[] | undefined {
  const parts = text.split(/[\s,]+/).filter((each) => each !== '')
  if (parts.length > maxPorts) return undefined
  const entries = parts.map(readPortRange).filter((each) => each !== undefined)
  const mappings = entries.flat()
  const names = new Set(mappings.map(portName))
  const isValid = entries.length === parts.length && names.size === mappings.length
  return isValid && mappings.length <= maxPorts ? mappings : undefined
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
