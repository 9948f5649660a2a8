/** Whether the link that this device has to the outside costs by its bytes: by the settings, by NetworkManager, or because it is a modem. */

export const meteredSettings = ['auto', 'yes', 'no'] as const
export type MeteredSetting = (typeof meteredSettings)[number]

export interface LinkState {
  readonly isMetered: boolean
  /** Where that is from. */
  readonly reason: string
}

/** What the system is asked. */
export interface LinkProbes {
  /** The property `Metered` of NetworkManager; undefined: it does not run, or does not answer. */
  networkManager(): Promise<number | undefined>
  /** Interface of the default route; undefined: there is no route. */
  defaultInterface(): string | undefined
  /** Kind of an interface as the kernel has it (`DEVTYPE`), such as `wwan` or `wlan`. */
  kindOf(name: string): string | undefined
}

/** Of NetworkManager (NMMetered): those that it knows, and those that it guesses by the kind of the connection. */
const managerStates = new Map([
  [1, { isMetered: true, reason: 'NetworkManager: the connection is metered' }],
  [2, { isMetered: false, reason: 'NetworkManager: the connection is not metered' }],
  [3, { isMetered: true, reason: 'NetworkManager: the connection is probably metered' }],
  [4, { isMetered: false, reason: 'NetworkManager: the connection is probably not metered' }],
])

/** Kinds of interfaces that are metered where nothing else is known: modems, and phones by Bluetooth. */
const meteredKinds: ReadonlySet<string> = new Set(['wwan', 'bluetooth'])

export async function readLinkState(setting: MeteredSetting, probes: LinkProbes): Promise<LinkState> {
  if (setting !== 'auto') return { isMetered: setting === 'yes', reason: `network.metered is "${setting}"` }
  const known = managerStates.get((await probes.networkManager()) ?? 0)
  if (known) return known
  const name = probes.defaultInterface()
  if (name === undefined) return { isMetered: false, reason: 'there is no default route' }
  const kind = probes.kindOf(name)
  const isMetered = kind !== undefined && meteredKinds.has(kind)
  return { isMetered, reason: `${name} is ${isMetered ? 'a modem or a phone' : 'no modem'}` }
}

/** @param text as busctl prints it: `u 4` */
export const readMetered = (text: string): number | undefined => {
  const digit = /^u (\d)\s*$/.exec(text)?.[1]
  return digit === undefined ? undefined : Number(digit)
}

/** @param table of IPv4 routes, as the kernel writes it @returns the interface of the default route with the lowest metric */
export function defaultInterfaceIn(table: string): string | undefined {
  const routes = table
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .toSorted((one, other) => Number(one[6]) - Number(other[6]))
  const name = routes[0]?.[0]
  // It becomes a part of a path.
  return name !== undefined && /^[^/\s]{1,15}$/.test(name) && !/^\.+$/.test(name) ? name : undefined
}
