/** Announcing and listening on the local networks. Loaded after the start: the first callers do not wait for it. */
import { type CiaoService, getResponder, type Responder } from '@homebridge/ciao'
import type { NodeRecord } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { readTxt, type Statement, serviceType, writeTxt } from './announcement.ts'
import { type Browser, openBrowser } from './browser.ts'
import { currentNetworks, isSame, type Network } from './networks.ts'

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

/** Milliseconds: between two looks at the networks, two questions, two fresh seals; and for answers to come. */
const times = { networks: 3000, questions: 60_000, seals: 240_000, answers: 400, recent: 2000 } as const

export function openLinkLocal(parts: LinkLocalParts): LinkLocal {
  const { nodeId, now, log } = parts
  let networks: readonly Network[] = []
  let browser: Browser | undefined
  let responder: Responder | undefined
  let service: CiaoService | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let turn = Promise.resolve()
  let isClosed = false

  const txt = () =>
    writeTxt(
      {
        nodeId,
        ...parts.statement(),
        hosts: networks.flatMap(({ addresses }) => addresses),
        at: parts.isTimeTrusted() ? now() : 0,
      },
      parts.accountKey(),
    )

  /** One after the other: an interface may come and go within a second. */
  function inTurn(work: () => Promise<void>): void {
    turn = turn
      .then(work)
      .catch((cause) => log.warn('the local network', { reason: (cause as Error).message }))
  }

  async function leave(): Promise<void> {
    browser?.close()
    browser = undefined
    const leaving = responder
    responder = undefined
    service = undefined
    await leaving?.shutdown()
  }

  async function join(): Promise<void> {
    const current = currentNetworks(parts.interfaces)
    if (isClosed || isSame(current, networks)) return
    await leave()
    networks = current
    if (networks.length === 0) return
    log.debug('the local networks', { names: networks.map(({ name }) => name) })
    browser = openBrowser({
      type: `_${serviceType}._tcp.local`,
      networks,
      now,
      onTrouble: (network, cause) => log.debug('the local network', { network, reason: cause.message }),
    })
    askedAt = now()
    responder = getResponder({ interface: networks.map(({ name }) => name) })
    const name = `selvedge ${nodeId.slice(0, 12)}`
    const made = responder.createService({
      name,
      type: serviceType,
      port: parts.port(),
      hostname: `selvedge-${nodeId.slice(0, 12)}`,
      txt: txt(),
    })
    service = made
    // It goes on by itself; with a link that comes late it may take a while.
    made.advertise().catch((cause: Error) => log.warn('the local network', { reason: cause.message }))
  }

  const restate = () => inTurn(async () => service?.updateTxt(txt()))
  const timers = [
    setInterval(() => inTurn(join), times.networks),
    setInterval(() => browser?.ask(), times.questions),
    setInterval(restate, times.seals),
  ]
  inTurn(join)

  function show(): NodeRecord[] {
    const accountKey = parts.accountKey()
    const accountId = parts.accountId()
    const byNode = new Map<string, NodeRecord>()
    for (const heard of browser?.services() ?? []) {
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
      if (browser && now() - askedAt > times.recent) {
        askedAt = now()
        browser.ask()
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
