/** What the device announces about itself: the URL of its API, and its services. Other parts set it; the parts that announce it read it. */
import { networkInterfaces } from 'node:os'
import type { EndReason, NodeService } from '@selvedge/protocol'
import type { DeviceVitals } from '@selvedge/protocol/tokens'
import { safely } from '@selvedge/service-kit/safely'
import { type StatedServices, statedServices } from './cloud/stated-services.ts'

type Stated = StatedServices[number]

interface ServiceSummary extends Stated {
  readonly restarts: number
  /** Why it last exited, or did not start. */
  readonly lastEnd: EndReason | undefined
}

/** An engine that works. */
export interface EngineSummary {
  readonly kind: 'function' | 'oci'
  /** Program and version. */
  readonly version?: string | undefined
  readonly isolation: readonly string[]
}

/** The services of this device, as their owner knows them. */
interface ServiceList {
  summary(): ServiceSummary[]
  /** The path prefixes that lead to each service that runs. */
  routes(): readonly { readonly container: { readonly name: string }; readonly prefixes: readonly string[] }[]
}

export interface Presence {
  /** URL of the local API; empty until it listens. */
  url(): string
  /** Where others reach the device: URLs where it listens for them, otherwise its addresses. */
  addresses(): string[]
  /** All services, for their owner, as many as fit in the statement of a node. */
  stated(): StatedServices
  /** The services that were restarted or did not start. */
  unsteady(): DeviceVitals['services']
  engines(): Promise<readonly EngineSummary[]>
  /** The services that run, with the path that leads to each. */
  served(): NodeService[]
  /** Sets the URL of the local API. */
  listen(url: string): void
  /** Sets the sources of the services and the engines; before this, the lists are empty. */
  serve(services: ServiceList, engines: () => Promise<readonly EngineSummary[]>): void
  /** To be called when the services changed. */
  servicesChanged(): void
  /** @param listener called a second after the services changed: changes come in groups */
  onServicesChange(listener: () => void): void
  close(): void
}

/** Milliseconds from a change of the services until it is announced. */
const announceAfterMs = 1000

/** @param listens the addresses that the API listens at */
export function createPresence(listens: readonly string[]): Presence {
  let url = ''
  let services: ServiceList | undefined
  let describeEngines: () => Promise<readonly EngineSummary[]> = async () => []
  let pending: NodeJS.Timeout | undefined
  const listeners: (() => void)[] = []
  const announce = safely('presence.announce', () => {
    for (const listener of listeners) listener()
  })
  return {
    url: () => url,
    addresses: () => reachableAt(listens, url),
    stated: () => statedServices(services?.summary() ?? []),
    served: () =>
      (services?.routes() ?? []).flatMap(({ container: { name }, prefixes: [path] }) =>
        path === undefined ? [] : [{ name, path }],
      ),
    listen(at) {
      url = at
    },
    unsteady: () =>
      (services?.summary() ?? [])
        .filter(({ restarts, lastEnd }) => restarts > 0 || lastEnd)
        .map(({ id, restarts, lastEnd }) => ({
          id: id.slice(0, 128),
          restarts,
          ...(lastEnd && { lastEnd }),
        })),
    engines: () => describeEngines(),
    serve(list, engines) {
      services = list
      describeEngines = engines
    },
    servicesChanged() {
      clearTimeout(pending)
      pending = setTimeout(announce, announceAfterMs)
    },
    onServicesChange: (listener) => void listeners.push(listener),
    close: () => clearTimeout(pending),
  }
}

function reachableAt(listens: readonly string[], url: string): string[] {
  if (url === '') return []
  const all = Object.values(networkInterfaces()).flatMap((list = []) => list)
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
  const isServed = (address: string) =>
    listens.some((each) => each === address || each === '0.0.0.0' || each === '::')
  const { protocol, port } = new URL(url)
  return outside.map(({ address, family }) => {
    if (!isServed(address)) return address
    return `${protocol}//${family === 'IPv6' ? `[${address}]` : address}:${port}`
  })
}
