/** Announcing and listening on the local networks. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeRecord } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import type { Notices } from '../../device/node/notices.ts'
import { readTxt, type Statement, serviceType } from './announcement.ts'
import { type Browser, createBrowser } from './browser.ts'
import { createMulticast, type Multicast } from './multicast.ts'
import { currentNetworks, isSame, type Network } from './networks.ts'
import { createOneAtATime } from './one-at-a-time.ts'
import { createOwnRecords } from './own-records.ts'
import { createResponder, type Responder } from './responder.ts'
import { createSeals } from './seals.ts'
import { showNodes, type Viewer } from './show.ts'
import { createTroubles, type Troubles } from './troubles.ts'

const type = `_${serviceType}._tcp.local`

export interface LinkLocalParts {
  readonly nodeId: string
  readonly accountId: () => string
  /** Undefined without an account, or while the node has not received it. */
  readonly accountKey: () => string | undefined
  readonly statement: () => Pick<Statement, 'name' | 'services'>
  /** Names of interfaces; empty: every one but the loopback. */
  readonly interfaces: readonly string[]
  /** TCP port of the runtime. */
  readonly port: () => number
  /** Unix milliseconds. */
  readonly now: () => number
  readonly isTimeTrusted: () => boolean
  readonly log: Log
  readonly notices: Notices
}

export interface LinkLocal {
  neighbours(viewer: Viewer): Promise<readonly NodeRecord[]>
  /** The same from what was received, without a query. */
  heard(viewer: Viewer): readonly NodeRecord[]
  /** Announces the present statement. */
  restate(): void
  close(): Promise<void>
}

const networkCheckMs = 3000
const queryIntervalMs = 60_000
/** A seal contains the time: it is renewed before neighbours refuse it as old. */
const sealIntervalMs = 240_000
/** Time for the answers to a query. */
const answerWaitMs = 400
/** A query is not repeated within this time. */
const recentQueryMs = 2000
/** Time for a goodbye to leave before the sockets are closed. */
const goodbyeMs = 50
const socketsOpenMs = 100

/** What exists while there are networks. */
interface Joined {
  readonly networks: readonly Network[]
  readonly multicast: Multicast
  readonly responder: Responder
}

export function openLinkLocal(parts: LinkLocalParts): LinkLocal {
  const { log } = parts
  const seals = createSeals(parts)
  const browser = createBrowser(type, (strings, from) =>
    readTxt(strings, { key: seals.key(), from, now: seals.now() }),
  )
  const troubles = createTroubles(log, parts.notices)
  const queue = createOneAtATime(log)
  let networks: readonly Network[] = []
  let joined: Joined | undefined
  let queriedAt = Number.NEGATIVE_INFINITY
  let isClosed = false

  function query(network?: Network): void {
    queriedAt = performance.now()
    joined?.multicast.send({ isResponse: false, questions: [{ name: type, type: 'PTR' }] }, network)
  }

  async function leave(): Promise<void> {
    const leaving = joined
    joined = undefined
    networks = []
    troubles.clear()
    if (!leaving) return
    seals.leaving(() => leaving.responder.close())
    await sleep(goodbyeMs)
    leaving.multicast.close()
  }

  /** The networks count as joined once all of it worked; until then the next check tries again. */
  async function join(): Promise<void> {
    const current = currentNetworks(parts.interfaces)
    if (isClosed || isSame(current, networks)) return
    await leave()
    browser.retain(current)
    if (current.length > 0)
      joined = openNetworks(parts, current, { browser, troubles, txt: seals.txt, query })
    networks = current
    log.debug('the local networks', { names: networks.map(({ name }) => name) })
    await sleep(socketsOpenMs)
    joined?.responder.announce()
  }

  // What was opened or refused with the former key is not valid any more.
  seals.onKeyChange(() => {
    browser.retain([])
    query()
  })
  const restate = () => queue.run(async () => joined?.responder.announce())
  const every = (ms: number, where: string, work: () => void) => setInterval(safely(where, work), ms)
  const timers = [
    every(networkCheckMs, 'link-local.networks', () => queue.run(join)),
    every(queryIntervalMs, 'link-local.query', () => query()),
    every(sealIntervalMs, 'link-local.seal', restate),
  ]
  queue.run(join)

  return {
    heard(viewer) {
      seals.key()
      return showHeard(parts, networks, browser, viewer)
    },
    async neighbours(viewer) {
      seals.key()
      if (joined && performance.now() - queriedAt > recentQueryMs) query()
      if (joined && performance.now() - queriedAt < answerWaitMs) await sleep(answerWaitMs)
      return this.heard(viewer)
    },
    restate,
    async close() {
      isClosed = true
      for (const each of timers) clearInterval(each)
      await queue.settled()
      await leave()
    },
  }
}

const showHeard = (
  { nodeId, accountId, now }: LinkLocalParts,
  networks: readonly Network[],
  browser: Browser,
  viewer: Viewer,
): readonly NodeRecord[] =>
  showNodes(browser.services(), viewer, { nodeId, accountId: accountId(), networks, now: now() })

/** Opens the sockets of these networks, with the responder behind them. */
function openNetworks(
  { nodeId, log, port }: LinkLocalParts,
  networks: readonly Network[],
  {
    browser,
    troubles,
    txt,
    query,
  }: {
    readonly browser: Browser
    readonly troubles: Troubles
    readonly txt: (network: Network) => readonly string[]
    readonly query: (network: Network) => void
  },
): Joined {
  const id = nodeId.slice(0, 12)
  const records = createOwnRecords({
    type,
    instance: `selvedge ${id}`,
    host: `selvedge-${id}`,
    port: port(),
    txt,
  })
  const multicast = createMulticast({
    networks,
    isSealed: browser.isSealed,
    onDropped: browser.missed,
    onTrouble: troubles.failed,
  })
  const warning = 'another device answers for the name of this node; the name is defended'
  const responder = createResponder({
    multicast,
    networks,
    records,
    onConflict: (network, address) => log.warn(warning, { network, address }),
  })
  multicast.open({
    onMessage(message, origin) {
      browser.receive(message, origin)
      responder.receive(message, origin)
    },
    onReady(network) {
      troubles.recovered(network.name)
      query(network)
      responder.greet(network)
    },
  })
  return { networks, multicast, responder }
}
