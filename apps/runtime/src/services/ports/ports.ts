/**
 * Opens the ports of `MCM.PORTS` on the device, and passes what comes to the instance that serves. A port belongs to one container while
 * that is deployed: it stays open over a redeploy, and leads to the new version from the moment that it serves. Nothing here checks a
 * token. A port is open to the loopback; to the network only if the owner of the device lists it (`services.publish`).
 */
import { type PortMapping, type PortRecord, portName, RpcError } from '@selvedge/protocol'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import type { Containers } from '../containers/containers.ts'
import type { Route } from '../containers/views.ts'
import type { StoredContainer } from '../deployments/deployments.ts'
import { idOf } from '../deployments/ownership.ts'
import {
  anotherPort,
  expectPortsFree,
  type PortKeeper,
  type PortRules,
  portsOf,
  reachOfPort,
  takenByOther,
} from './claims.ts'
import type { Destination } from './destination.ts'
import { createHeldPorts, type HeldPorts, type HeldPortsParts } from './held-ports.ts'

export type PortsParts = PortRules & HeldPortsParts

export interface Ports extends PortKeeper {
  /** Sets the containers: without this call no port is open. */
  follow(containers: Pick<Containers, 'routes'>): void
  /** The ports of all containers of the account, by number. */
  all(): PortRecord[]
  /** To be called when containers came, changed or went. */
  refresh(): void
  close(): void
}

/** Milliseconds between two attempts to open a port that another program has. */
const retryMs = 10_000

interface Wanted {
  readonly route: Route
  readonly mapping: PortMapping
  readonly reach: PortRecord['reach']
}

export function createPorts(parts: PortsParts): Ports {
  let containers: Pick<Containers, 'routes'> = { routes: () => [] }
  /** Where ports lead. */
  let wanted: ReadonlyMap<string, Wanted> = new Map()
  const findAt = (name: string) => () => findIn(wanted.get(name), parts.now)
  const held = createHeldPorts(parts, findAt)
  /** Ports of deployments under way. */
  const claimed = new Map<string, string>()
  let retrying: NodeJS.Timeout | undefined
  /** One change after the other: each closes and opens ports. */
  let changing: Promise<unknown> = Promise.resolve()

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = changing.then(work)
    changing = mine.catch(() => undefined)
    return mine
  }

  async function reconcile(): Promise<void> {
    if (held.isClosed()) return
    wanted = wantedBy(containers.routes(), parts)
    for (const [name, { id, reach }] of held.all()) {
      const one = wanted.get(name)
      const isWanted = one !== undefined && one.route.id === id && one.reach === reach
      if (!isWanted && claimed.get(name) !== id) held.drop(name)
    }
    for (const [name, { route, mapping, reach }] of wanted)
      if (held.get(name)?.port === undefined) await held.open(route.id, mapping, reach)
    clearTimeout(retrying)
    if (held.all().some(([, { port }]) => port === undefined))
      retrying = setTimeout(safely('ports.retry', refresh), retryMs).unref()
  }

  function refresh(): void {
    inBackground('ports.refresh', inTurn(reconcile))
  }

  async function claimAll(container: StoredContainer): Promise<void> {
    const id = idOf(container)
    for (const mapping of portsOf(container)) {
      const name = portName(mapping)
      const claimedBy = claimed.get(name) ?? id
      if (claimedBy !== id) throw takenByOther(mapping)
      claimed.set(name, id)
      const before = held.get(name)
      if (before?.port && before.id === id) continue
      const one = await held.open(id, mapping, reachOfPort(parts, container, mapping))
      if (!one.port) throw notOpened(mapping, one.problem)
    }
  }

  return {
    follow(given) {
      containers = given
    },
    expectFree: (value, key, container, kind) => expectPortsFree(value, parts, key, container, kind),
    async claim(container) {
      const release = () => {
        for (const mapping of portsOf(container))
          if (claimed.get(portName(mapping)) === idOf(container)) claimed.delete(portName(mapping))
        refresh()
      }
      try {
        await inTurn(() => claimAll(container))
      } catch (cause) {
        release()
        throw cause
      }
      return release
    },
    refresh,
    ...describePorts(() => containers.routes(), parts, held),
    close() {
      clearTimeout(retrying)
      held.close()
    },
  }
}

const notOpened = (mapping: PortMapping, problem: string | null): RpcError =>
  new RpcError('conflict', `the port ${portName(mapping)} cannot be opened: ${problem}`, {
    hint: anotherPort(mapping),
  })

const describePorts = (
  routes: () => readonly Route[],
  rules: PortRules,
  held: Pick<HeldPorts, 'get'>,
): Pick<Ports, 'records' | 'all'> => ({
  records: (container) => recordsOf(container, rules, held),
  all: () =>
    routes()
      .flatMap(({ container }) => recordsOf(container, rules, held) ?? [])
      .toSorted((one, other) => one.port - other.port),
})

/** Why a port is closed that another program of the device does not have. */
function closedBecause({ wanted, failed }: StoredContainer): string {
  if (wanted !== 'running') return 'the container is stopped'
  return failed === null ? 'it is not open yet' : 'the container has failed'
}

function recordsOf(
  container: StoredContainer,
  rules: PortRules,
  held: Pick<HeldPorts, 'get'>,
): PortRecord[] | undefined {
  const ports = portsOf(container)
  if (ports.length === 0) return undefined
  const closed = closedBecause(container)
  return ports.map((mapping) => {
    const one = held.get(portName(mapping))
    const problem = one?.id === idOf(container) ? one.problem : closed
    return { ...mapping, reach: reachOfPort(rules, container, mapping), problem }
  })
}

/** The ports of containers that are to run. The older container keeps a port that two of them have. */
function wantedBy(routes: readonly Route[], rules: PortRules): Map<string, Wanted> {
  const all = new Map<string, Wanted>()
  for (const route of routes.toSorted((one, other) => one.container.created - other.container.created)) {
    const { container, settings } = route
    if (container.wanted !== 'running' || container.failed !== null) continue
    for (const mapping of settings['MCM.PORTS']) {
      const name = portName(mapping)
      const reach = reachOfPort(rules, container, mapping)
      if (!all.has(name)) all.set(name, { route, mapping, reach })
    }
  }
  return all
}

/** The instance that a port leads to. Rejects if it does not run. */
async function findIn(wanted: Wanted | undefined, now: () => number): Promise<Destination> {
  if (!wanted || wanted.route.isStopped()) throw new Error('nothing is there')
  const running = await wanted.route.service.acquire()
  const upstream = running.instance.portOf?.(wanted.mapping)
  if (!upstream) throw new Error('it has no such port')
  const used = () => {
    running.lastUsed = now()
  }
  return { upstream, instance: running, used }
}
