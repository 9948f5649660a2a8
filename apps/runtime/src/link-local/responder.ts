/**
 * Announces one service on the local networks, and answers queries for it (RFC 6762 §§ 6, 8 to 10). It never gives up its
 * name: that carries the node ID, so another device that answers for it is wrong, and its answers are contradicted.
 */
import { safely } from '@selvedge/service-kit/safely'
import type { DnsRecord, Message } from './dns.ts'
import type { Multicast, Origin } from './multicast.ts'
import type { Network } from './networks.ts'
import type { Kind, OwnRecords } from './own-records.ts'

export interface ResponderParts {
  readonly multicast: Multicast
  readonly networks: readonly Network[]
  readonly records: OwnRecords
  /** Called for the first contradiction after a quiet minute. */
  readonly onConflict: (network: string, address: string) => void
}

export interface Responder {
  /** Announces what the records are now: probes first, the first time. */
  announce(): void
  /** Announces on one network, whose sockets were not ready before. */
  greet(network: Network): void
  receive(message: Message, origin: Origin): void
  /** Sends a goodbye. */
  close(): void
}

/** Milliseconds between probes, between announcements, and between two answers on one network (§§ 6, 8). */
const times = { probe: 250, announce: 1000, again: 1000 } as const
/** Milliseconds between two defences of the name on one network: each doubles them, a quiet minute resets them. */
const defence = { first: 1000, last: 60_000, quiet: 60_000 } as const
/** Seconds for which records are valid for one that does not listen to the group (§ 6.7). */
const aloneTtl = 10
const probes = 3
const everything: readonly Kind[] = ['pointer', 'service', 'text', 'addresses']

/** What is going on with one network. Times are milliseconds of the monotonic clock. */
interface Talk {
  /** Kinds of records that the next answer carries. */
  readonly pending: Set<Kind>
  timer?: NodeJS.Timeout | undefined
  answeredAt: number
  conflictAt: number
  defendedAt: number
  defendAgainMs: number
}

export function createResponder({ multicast, networks, records, onConflict }: ResponderParts): Responder {
  let state: 'silent' | 'probing' | 'announced' | 'closed' = 'silent'
  let timer: NodeJS.Timeout | undefined
  const never = Number.NEGATIVE_INFINITY
  const talks = new Map<Network, Talk>(
    networks.map((network) => [
      network,
      {
        pending: new Set(),
        answeredAt: never,
        conflictAt: never,
        defendedAt: never,
        defendAgainMs: defence.first,
      },
    ]),
  )
  const of = (kinds: Iterable<Kind>, network: Network) =>
    [...kinds].flatMap((kind) => records.of(kind, network))

  /** Says three times that the names are about to be used, then announces them twice (§ 8). */
  function probe(left: number): void {
    if (state === 'closed') return
    state = 'probing'
    if (left === 0) {
      tell(2)
      return
    }
    const questions = [records.instance, records.host].map((name) => ({ name, type: 'ANY' as const }))
    for (const network of networks)
      multicast.send(
        { isResponse: false, questions, authorities: of(['service', 'addresses'], network) },
        network,
      )
    timer = setTimeout(
      safely('link-local.probe', () => probe(left - 1)),
      times.probe,
    )
  }

  function tell(left: number): void {
    if (state === 'closed' || left === 0) return
    state = 'announced'
    for (const network of networks) sendAll(network)
    timer = setTimeout(
      safely('link-local.announce', () => tell(left - 1)),
      times.announce,
    )
  }

  const sendAll = (network: Network) =>
    multicast.send({ isResponse: true, answers: of(everything, network) }, network)

  function answersWith(kinds: ReadonlySet<Kind>, network: Network) {
    const additionals = kinds.has('pointer') ? everything.filter((kind) => !kinds.has(kind)) : []
    return { answers: of(kinds, network), additionals: of(additionals, network) }
  }

  /** Answers on a network once a second at most, with everything that was asked for until then (§§ 6, 6.4). */
  function answerSoon(network: Network, kinds: Iterable<Kind>): void {
    const talk = talks.get(network)
    if (!talk) return
    for (const kind of kinds) talk.pending.add(kind)
    if (talk.timer !== undefined || talk.pending.size === 0) return
    // Many may have a pointer of this type: they must not all answer at once.
    const spread = talk.pending.has('pointer') ? 20 + Math.random() * 100 : 0
    const wait = Math.max(0, talk.answeredAt + times.again - performance.now()) + spread
    const answer = () => {
      talk.timer = undefined
      const message = answersWith(new Set(talk.pending), network)
      talk.pending.clear()
      if (state !== 'announced') return
      talk.answeredAt = performance.now()
      multicast.send({ isResponse: true, ...message }, network)
    }
    talk.timer = setTimeout(safely('link-local.answer', answer), wait)
  }

  /** Contradicts another device that answers for our names, with growing pauses while that continues (§§ 8.1, 9). */
  function defend({ network, address }: Origin): void {
    const talk = talks.get(network)
    if (!talk) return
    const now = performance.now()
    const isFirst = now - talk.conflictAt > defence.quiet
    talk.conflictAt = now
    if (isFirst) talk.defendAgainMs = defence.first
    if (!isFirst && now - talk.defendedAt < talk.defendAgainMs) return
    if (isFirst) onConflict(network.name, address)
    else talk.defendAgainMs = Math.min(defence.last, 2 * talk.defendAgainMs)
    talk.defendedAt = now
    answerSoon(network, everything)
  }

  function replyTo(message: Message, { network, replyAlone }: Origin, kinds: ReadonlySet<Kind>): void {
    const { answers, additionals } = answersWith(kinds, network)
    const brief = (each: DnsRecord) => ({ ...each, ttl: aloneTtl, flush: false })
    replyAlone?.({
      id: message.id,
      isResponse: true,
      questions: message.questions,
      answers: answers.map(brief),
      additionals: additionals.map(brief),
    })
  }

  return {
    announce() {
      clearTimeout(timer)
      if (state === 'announced') tell(2)
      else if (state !== 'closed') probe(probes)
    },
    greet(network) {
      if (state === 'announced') answerSoon(network, everything)
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
      if (origin.replyAlone) replyTo(message, origin, kinds)
      else answerSoon(origin.network, kinds)
    },
    close() {
      clearTimeout(timer)
      for (const { timer: each } of talks.values()) clearTimeout(each)
      if (state === 'announced')
        for (const network of networks)
          multicast.send(
            {
              isResponse: true,
              answers: of(['pointer', 'text'], network).map((each) => ({ ...each, ttl: 0 })),
            },
            network,
          )
      state = 'closed'
    },
  }
}
