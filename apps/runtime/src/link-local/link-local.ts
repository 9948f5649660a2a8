/** Announcing and listening on the local networks. */
import { randomUUID } from 'node:crypto'
import type { NodeRecord } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import type { Notices } from '../node/notices.ts'
import { readTxt, type Statement, sealKeyOf, serviceType, writeTxt } from './announcement.ts'
import { createBrowser } from './browser.ts'
import type { Trouble } from './link-socket.ts'
import { createMulticast, type Multicast } from './multicast.ts'
import { currentNetworks, isSame, type Network } from './networks.ts'
import { createOwnRecords } from './own-records.ts'
import { createResponder, type Responder } from './responder.ts'
import { showNodes } from './show.ts'

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
  neighbours(): Promise<readonly NodeRecord[]>
  /** Announces the present statement. */
  restate(): void
  close(): Promise<void>
}

/** Milliseconds: between two checks of the networks, two queries, two fresh seals; for answers to come, a goodbye to go, sockets to open. */
const times = {
  networks: 3000,
  queries: 60_000,
  seals: 240_000,
  answers: 400,
  recent: 2000,
  goodbye: 50,
  sockets: 100,
} as const
/** Failures in a row after which a socket is worth a warning: the first ones are usual while an interface comes up. */
const warnAfter = 3

export function openLinkLocal(parts: LinkLocalParts): LinkLocal {
  const { nodeId, log, notices } = parts
  const run = randomUUID()
  let networks: readonly Network[] = []
  /** Exists while there are networks. */
  let own: { readonly multicast: Multicast; readonly responder: Responder } | undefined
  let isLeaving = false
  let seal: { readonly accountKey: string | undefined; readonly key: Buffer | undefined } | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let turn = Promise.resolve()
  let lastFailure = ''
  let isClosed = false
  /** Networks with a socket that failed again and again. */
  const troubled = new Set<string>()

  const trustedNow = () => (parts.isTimeTrusted() ? parts.now() : 0)
  const browser = createBrowser(type, (strings, from) =>
    readTxt(strings, { key: sealKey(), from, now: trustedNow() }),
  )

  /** The key of the present account. What was opened or not with another one is forgotten. */
  function sealKey(): Buffer | undefined {
    const accountKey = parts.accountKey()
    if (seal?.accountKey !== accountKey || seal === undefined) {
      seal = { accountKey, key: accountKey === undefined ? undefined : sealKeyOf(accountKey) }
      browser.retain([])
      ask()
    }
    return seal.key
  }

  function txt(network: Network): readonly string[] {
    const key = sealKey()
    const { addresses: hosts } = network
    return writeTxt({ nodeId, ...parts.statement(), hosts, at: trustedNow(), run, isLeaving }, key)
  }

  function recovered(network: string): void {
    troubled.delete(network)
    if (troubled.size === 0) notices.clear('link_local_unavailable')
  }

  /** One after the other: an interface may come and go within a second. */
  function inTurn(work: () => Promise<void>): void {
    turn = turn.then(work).then(
      () => {
        lastFailure = ''
      },
      (cause: Error) => {
        // The networks are checked again soon: a lasting failure is logged once.
        if (cause.message !== lastFailure)
          log.warn('link-local discovery failed; it is tried again', { cause })
        lastFailure = cause.message
      },
    )
  }

  function ask(network?: Network): void {
    askedAt = performance.now()
    own?.multicast.send({ isResponse: false, questions: [{ name: type, type: 'PTR' }] }, network)
  }

  async function leave(): Promise<void> {
    const leaving = own
    own = undefined
    networks = []
    for (const each of [...troubled]) recovered(each)
    isLeaving = true
    leaving?.responder.close()
    isLeaving = false
    // The goodbye has to leave before the sockets are closed.
    if (leaving) await new Promise((resolve) => setTimeout(resolve, times.goodbye))
    leaving?.multicast.close()
  }

  /** The networks count as joined once all of it worked; until then the next check tries again. */
  async function join(): Promise<void> {
    const current = currentNetworks(parts.interfaces)
    if (isClosed || isSame(current, networks)) return
    await leave()
    browser.retain(current)
    if (current.length > 0) own = open(current)
    networks = current
    log.debug('the local networks', { names: networks.map(({ name }) => name) })
    await new Promise((resolve) => setTimeout(resolve, times.sockets))
    own?.responder.announce()
  }

  function open(current: readonly Network[]): { multicast: Multicast; responder: Responder } {
    const id = nodeId.slice(0, 12)
    const records = createOwnRecords({
      type,
      instance: `selvedge ${id}`,
      host: `selvedge-${id}`,
      port: parts.port(),
      txt,
    })
    const multicast = createMulticast({
      networks: current,
      isSealed: browser.isSealed,
      onDropped: browser.missed,
      onTrouble: report,
    })
    const responder = createResponder({
      multicast,
      networks: current,
      records,
      onConflict: (network, address) =>
        log.warn('another device answers for the name of this node; the name is defended', {
          network,
          address,
        }),
    })
    multicast.open({
      onMessage(message, origin) {
        browser.receive(message, origin)
        responder.receive(message, origin)
      },
      onReady(network) {
        recovered(network.name)
        ask(network)
        responder.greet(network)
      },
    })
    return { multicast, responder }
  }

  function report({ cause, failures, ...fields }: Trouble): void {
    const details = { ...fields, failures, why: cause.message }
    log.debug('link-local discovery cannot use a network; it is tried again', details)
    if (failures < warnAfter) return
    troubled.add(fields.network)
    notices.raise('link_local_unavailable', details)
  }

  const restate = () => inTurn(async () => own?.responder.announce())
  const every = (ms: number, where: string, work: () => void) => setInterval(safely(where, work), ms)
  const timers = [
    every(times.networks, 'link-local.networks', () => inTurn(join)),
    every(times.queries, 'link-local.query', () => ask()),
    every(times.seals, 'link-local.seal', restate),
  ]
  inTurn(join)

  return {
    async neighbours() {
      sealKey()
      if (own && performance.now() - askedAt > times.recent) ask()
      if (own && performance.now() - askedAt < times.answers)
        await new Promise((resolve) => setTimeout(resolve, times.answers))
      return showNodes(browser.services(), {
        nodeId,
        accountId: parts.accountId(),
        networks,
        now: parts.now(),
      })
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
