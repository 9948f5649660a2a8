/** Answers queries on the local networks, once a second at most on each (RFC 6762 §§ 6, 6.4). */
import { safely } from '@selvedge/service-kit/safely'
import type { DnsRecord } from './dns.ts'
import type { Multicast } from './multicast.ts'
import type { Network } from './networks.ts'
import { announcedKinds, type Kind, type OwnRecords } from './own-records.ts'

const minIntervalMs = 1000
/** A random delay before an answer that many devices may send. */
const spreadMs = { min: 20, max: 120 } as const

interface Schedule {
  /** Kinds of records that the next answer contains. */
  readonly pending: Set<Kind>
  timer?: NodeJS.Timeout | undefined
  /** Monotonic milliseconds. */
  answeredAt: number
}

export interface Answers {
  /** Plans an answer with these records, and with those that were planned before. */
  plan(network: Network, kinds: Iterable<Kind>): void
  close(): void
}

export interface AnswersParts {
  readonly multicast: Pick<Multicast, 'send'>
  readonly networks: readonly Network[]
  readonly records: OwnRecords
  /** Whether the records are announced: nothing is answered before. */
  readonly isAnnounced: () => boolean
}

export function createAnswers({ multicast, networks, records, isAnnounced }: AnswersParts): Answers {
  const schedules = new Map<Network, Schedule>(
    networks.map((network) => [network, { pending: new Set(), answeredAt: Number.NEGATIVE_INFINITY }]),
  )

  function answer(network: Network, schedule: Schedule): void {
    schedule.timer = undefined
    const message = answerWith(records, schedule.pending, network)
    schedule.pending.clear()
    if (!isAnnounced()) return
    schedule.answeredAt = performance.now()
    multicast.send({ isResponse: true, ...message }, network)
  }

  return {
    plan(network, kinds) {
      const schedule = schedules.get(network)
      if (!schedule) return
      for (const kind of kinds) schedule.pending.add(kind)
      if (schedule.timer !== undefined || schedule.pending.size === 0) return
      const isShared = schedule.pending.has('pointer')
      const spread = isShared ? spreadMs.min + Math.random() * (spreadMs.max - spreadMs.min) : 0
      const waitMs = Math.max(0, schedule.answeredAt + minIntervalMs - performance.now()) + spread
      schedule.timer = setTimeout(
        safely('link-local.answer', () => answer(network, schedule)),
        waitMs,
      )
    },
    close() {
      for (const { timer } of schedules.values()) clearTimeout(timer)
    },
  }
}

/** The records of these kinds. With a pointer, the others follow as additional records: they save the next query. */
export function answerWith(
  records: OwnRecords,
  kinds: ReadonlySet<Kind>,
  network: Network,
): { readonly answers: DnsRecord[]; readonly additionals: DnsRecord[] } {
  const of = (some: Iterable<Kind>) => [...some].flatMap((kind) => records.of(kind, network))
  return {
    answers: of(kinds),
    additionals: of(kinds.has('pointer') ? announcedKinds.filter((kind) => !kinds.has(kind)) : []),
  }
}
