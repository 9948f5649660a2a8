/** What the device announces about itself: the URL of its API, and its services. Other parts set it; the parts that announce it read it. */
import { networkInterfaces } from 'node:os'
import type { NodeService } from '@selvedge/protocol'
import type { NodeStatement } from '@selvedge/protocol/tokens'
import { safely } from '@selvedge/service-kit/safely'
import { statedServices } from './cloud/stated-services.ts'

type StatedServices = NonNullable<NodeStatement['services']>

/** The services of this device, as their owner knows them. */
interface ServiceList {
  /** Id, name, image and state of each. */
  summary(): StatedServices
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
  /** The services that run, with the path that leads to each. */
  served(): NodeService[]
  /** Sets the URL of the local API. */
  listen(url: string): void
  /** Sets the source of the services; before this, the list is empty. */
  serve(services: ServiceList): void
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
    serve(list) {
      services = list
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
