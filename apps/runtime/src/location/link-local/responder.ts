/**
 * Announces one service on the local networks, and answers queries for it (RFC 6762 §§ 6, 8 to 10). It never gives up its
 * name: that contains the node ID, so another device that answers for it is wrong, and its answers are contradicted.
 */
import { safely } from '@selvedge/service-kit/safely'
import { answerWith, createAnswers } from './answers.ts'
import { afterConflict, noConflict } from './defence.ts'
import type { DnsRecord, Message } from './dns.ts'
import type { Multicast, Origin } from './multicast.ts'
import type { Network } from './networks.ts'
import { announcedKinds, type Kind, type OwnRecords } from './own-records.ts'

export interface ResponderParts {
  readonly multicast: Multicast
  readonly networks: readonly Network[]
  readonly records: OwnRecords
  /** Called for the first contradiction after a quiet minute. */
  readonly onConflict: (network: string, address: string) => void
}

export interface Responder {
  /** Announces the current records. The first time, it sends probes before. */
  announce(): void
  /** Announces on one network: its sockets were not ready before. */
  greet(network: Network): void
  receive(message: Message, origin: Origin): void
  /** Sends a goodbye. */
  close(): void
}

/** Between probes, and between announcements (§ 8). */
const probeIntervalMs = 250
const announceIntervalMs = 1000
const probeCount = 3
const announcementCount = 2
/** TTL in seconds of records for a client that does not listen to the group (§ 6.7). */
const unicastTtlSeconds = 10

type State = 'silent' | 'probing' | 'announced' | 'closed'

export function createResponder(parts: ResponderParts): Responder {
  const { multicast, networks, records } = parts
  let state: State = 'silent'
  let timer: NodeJS.Timeout | undefined
  const answers = createAnswers({ ...parts, isAnnounced: () => state === 'announced' })
  const defences = new Map(networks.map((network) => [network, noConflict]))

  /** Sends probes for the names, then announces them (§ 8). @param left probes to send */
  function probe(left: number): void {
    if (state === 'closed') return
    state = 'probing'
    if (left === 0) {
      announce(announcementCount)
      return
    }
    for (const network of networks) sendProbe(parts, network)
    timer = setTimeout(
      safely('link-local.probe', () => probe(left - 1)),
      probeIntervalMs,
    )
  }

  /** @param left announcements to send */
  function announce(left: number): void {
    if (state === 'closed' || left === 0) return
    state = 'announced'
    for (const network of networks)
      multicast.send({ isResponse: true, answers: recordsOf(records, announcedKinds, network) }, network)
    timer = setTimeout(
      safely('link-local.announce', () => announce(left - 1)),
      announceIntervalMs,
    )
  }

  /** Contradicts another device that answers for our names (§§ 8.1, 9). */
  function defend({ network, address }: Origin): void {
    const before = defences.get(network)
    if (!before) return
    const { state: after, isFirst, mustDefend } = afterConflict(before, performance.now())
    defences.set(network, after)
    if (isFirst) parts.onConflict(network.name, address)
    if (mustDefend) answers.plan(network, announcedKinds)
  }

  return {
    announce() {
      clearTimeout(timer)
      if (state === 'announced') announce(announcementCount)
      else if (state !== 'closed') probe(probeCount)
    },
    greet(network) {
      if (state === 'announced') answers.plan(network, announcedKinds)
    },
    receive(message, origin) {
      if (state !== 'announced') return
      if (message.isResponse) {
        const all = [...message.answers, ...message.additionals]
        if (all.some((each) => records.contradicts(each, networks))) defend(origin)
        return
      }
      const kinds = records.askedFor(message)
      if (kinds.size === 0) return
      if (origin.replyAlone) replyAlone(records, message, origin, kinds)
      else answers.plan(origin.network, kinds)
    },
    close() {
      clearTimeout(timer)
      answers.close()
      if (state === 'announced') for (const network of networks) sendGoodbye(parts, network)
      state = 'closed'
    },
  }
}

const recordsOf = (records: OwnRecords, kinds: readonly Kind[], network: Network): DnsRecord[] =>
  kinds.flatMap((kind) => records.of(kind, network))

function sendProbe({ multicast, records }: ResponderParts, network: Network): void {
  const questions = [records.instance, records.host].map((name) => ({ name, type: 'ANY' as const }))
  const authorities = recordsOf(records, ['service', 'addresses'], network)
  multicast.send({ isResponse: false, questions, authorities }, network)
}

/** Records with a TTL of 0 (§ 10.1). */
function sendGoodbye({ multicast, records }: ResponderParts, network: Network): void {
  const answers = recordsOf(records, ['pointer', 'text'], network).map((each) => ({ ...each, ttl: 0 }))
  multicast.send({ isResponse: true, answers }, network)
}

/** Answers a query whose sender does not listen to the group (§ 6.7). */
function replyAlone(
  records: OwnRecords,
  { id, questions }: Message,
  { network, replyAlone: reply }: Origin,
  kinds: ReadonlySet<Kind>,
): void {
  const { answers, additionals } = answerWith(records, kinds, network)
  const brief = (each: DnsRecord) => ({ ...each, ttl: unicastTtlSeconds, flush: false })
  reply?.({
    id,
    isResponse: true,
    questions,
    answers: answers.map(brief),
    additionals: additionals.map(brief),
  })
}
