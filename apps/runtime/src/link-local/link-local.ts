/** Announcing and listening on the local networks. */
import type { NodeRecord } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { readTxt, type Statement, serviceType, writeTxt } from './announcement.ts'
import { type Browser, createBrowser } from './browser.ts'
import { type Multicast, openMulticast } from './multicast.ts'
import { currentNetworks, isSame, type Network } from './networks.ts'
import { createResponder, type Responder } from './responder.ts'

const type = `_${serviceType}._tcp.local`

export interface LinkLocalParts {
  readonly nodeId: string
  readonly accountId: () => string
  /** Undefined where the node has no account, or was never told. */
  readonly accountKey: () => string | undefined
  readonly statement: () => Pick<Statement, 'name' | 'services'>
  /** Names of interfaces; empty: every one but the loopback. */
  readonly interfaces: readonly string[]
  /** TCP port of the runtime. */
  readonly port: () => number
  readonly now: () => number
  /** Whether the clock is known to be right. */
  readonly isTimeTrusted: () => boolean
  readonly log: Log
}

export interface LinkLocal {
  neighbours(): Promise<readonly NodeRecord[]>
  /** Announces how things are now. */
  restate(): void
  close(): Promise<void>
}

/** Milliseconds: between two looks at the networks, two questions, two fresh seals; for answers to come, a goodbye to go, sockets to open. */
const times = {
  networks: 3000,
  questions: 60_000,
  seals: 240_000,
  answers: 400,
  recent: 2000,
  goodbye: 50,
  sockets: 100,
} as const

export function openLinkLocal(parts: LinkLocalParts): LinkLocal {
  const { nodeId, now, log } = parts
  let networks: readonly Network[] = []
  /** What there is while there are networks. */
  let own:
    | { readonly multicast: Multicast; readonly browser: Browser; readonly responder: Responder }
    | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let turn = Promise.resolve()
  let isClosed = false

  const txt = (): string[] => {
    const entries = writeTxt(
      {
        nodeId,
        ...parts.statement(),
        hosts: networks.flatMap(({ addresses }) => addresses),
        at: parts.isTimeTrusted() ? now() : 0,
      },
      parts.accountKey(),
    )
    return Object.entries(entries).map(([name, value]) => `${name}=${value}`)
  }

  /** One after the other: an interface may come and go within a second. */
  function inTurn(work: () => Promise<void>): void {
    turn = turn
      .then(work)
      .catch((cause) => log.warn('the local network', { reason: (cause as Error).message }))
  }

  function ask(): void {
    askedAt = now()
    own?.multicast.send({ isResponse: false, questions: [{ name: type, type: 'PTR' }] })
  }

  async function leave(): Promise<void> {
    const leaving = own
    own = undefined
    leaving?.responder.close()
    // The goodbye has to leave before the sockets are closed.
    if (leaving) await new Promise((resolve) => setTimeout(resolve, times.goodbye))
    leaving?.multicast.close()
  }

  async function join(): Promise<void> {
    const current = currentNetworks(parts.interfaces)
    if (isClosed || isSame(current, networks)) return
    await leave()
    networks = current
    if (networks.length === 0) return
    log.debug('the local networks', { names: networks.map(({ name }) => name) })
    const browser = createBrowser(type, now)
    const id = nodeId.slice(0, 12)
    const multicast = openMulticast({
      networks,
      onMessage(message, origin) {
        browser.receive(message, origin)
        responder.receive(message, origin)
      },
      onReady: ask,
      onTrouble: (network, cause) => log.debug('the local network', { network, reason: cause.message }),
    })
    const responder = createResponder({
      multicast,
      networks,
      type,
      instance: `selvedge ${id}`,
      host: `selvedge-${id}`,
      port: parts.port(),
    })
    own = { multicast, browser, responder }
    await new Promise((resolve) => setTimeout(resolve, times.sockets))
    responder.announce(txt())
  }

  const restate = () => inTurn(async () => own?.responder.announce(txt()))
  const timers = [
    setInterval(() => inTurn(join), times.networks),
    setInterval(ask, times.questions),
    setInterval(restate, times.seals),
  ]
  inTurn(join)

  function show(): NodeRecord[] {
    const accountKey = parts.accountKey()
    const accountId = parts.accountId()
    const byNode = new Map<string, NodeRecord>()
    for (const heard of own?.browser.services() ?? []) {
      const trusted = parts.isTimeTrusted() ? now() : 0
      const announced = readTxt(heard.txt, { accountKey, from: heard.from, now: trusted })
      if (!announced || announced.nodeId === nodeId) continue
      const { statement } = announced
      const known = byNode.get(announced.nodeId)
      // What is of the account is believed before what anybody may claim.
      if (known && (known.state === 'online' || !statement)) continue
      byNode.set(announced.nodeId, {
        nodeId: announced.nodeId,
        name: statement?.name ?? null,
        accountId: statement ? accountId : null,
        state: statement ? 'online' : 'seen',
        addresses: [...heard.addresses],
        services: [...(statement?.services ?? [])],
        heardAt: isoTime(heard.heardAt),
        distance: null,
        fix: null,
      })
    }
    return [...byNode.values()].sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1))
  }

  return {
    async neighbours() {
      if (own && now() - askedAt > times.recent) {
        ask()
        await new Promise((resolve) => setTimeout(resolve, times.answers))
      }
      return show()
    },
    restate,
    async close() {
      isClosed = true
      for (const each of timers) clearInterval(each)
      await turn
      await leave()
    },
  }
}
