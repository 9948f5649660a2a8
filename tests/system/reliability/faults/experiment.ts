/** The experiments with faults: a stack, one of whose daemons meets them. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../../../harness/processes.ts'
import { startServices } from '../../../harness/services.ts'
import { discoverySubject } from '../subjects/discovery.ts'
import { identitySubject } from '../subjects/identity.ts'
import { runtimeSubject } from '../subjects/runtime.ts'
import type { OwnedSubject, Subject } from '../subjects/subject.ts'
import { type FaultKind, type Faults, faultKinds, prepareFaults, untilDisarmed } from './faults.ts'
import { chooseNumbers, type Outcome, type Round, runRounds, runStarts, sumOf } from './rounds.ts'

export const faulty = ['runtime', 'identity', 'discovery'] as const
export type Faulty = (typeof faulty)[number]

/**
 * When calls fail: one while the daemon works or starts; or, for the log, one write of the log while no call on the state succeeds, so
 * that there is something to log; and, for a full disk, all calls from one on, with those of the log.
 */
export const occasions = ['work', 'start', 'log', 'full disk'] as const
export type Occasion = (typeof occasions)[number]

interface Asked {
  readonly occasion: Occasion
  /** Rounds of each kind of fault; "all": every call of one pass through the work, at most 200. */
  readonly rounds: number | 'all'
  /** Kinds of faults: all of them by default. */
  readonly kinds?: readonly FaultKind[]
}

interface Options {
  /** Milliseconds of a slow write. */
  readonly slowMs: number
  /** Stacks that share the rounds: most of a round is waiting. One by default. */
  readonly lanes?: number
}

/** Daemons of which one meets faults on one occasion after the other. */
export interface FaultyDaemons {
  meet(daemon: Faulty, asked: Asked): Promise<Outcome>
  stop(): Promise<void>
}

/** @param say gets each failure as soon as it is seen */
export async function meetFaults(
  daemon: Faulty,
  { occasion, rounds, ...options }: Asked & Options,
  say: (text: string) => void = () => undefined,
): Promise<Outcome> {
  const opened = await openFaulty(options, say)
  try {
    return await opened.meet(daemon, { occasion, rounds })
  } finally {
    await opened.stop()
  }
}

/** @param say gets each failure as soon as it is seen */
export async function openFaulty(
  { slowMs, lanes = 1 }: Options,
  say: (text: string) => void = () => undefined,
): Promise<FaultyDaemons> {
  const all = await Promise.all(Array.from({ length: lanes }, () => openLane(slowMs)))
  return {
    async meet(daemon, { occasion, rounds, kinds = faultKinds }) {
      const own = await Promise.all(all.map((lane) => lane.daemon(daemon)))
      const planned = await plans[occasion](own[0]!, rounds, kinds)
      const run = occasion === 'start' ? runStarts : runRounds
      const outcomes = own.map(({ subject, faults }, lane) =>
        run(
          subject,
          faults,
          planned.filter((_, at) => at % lanes === lane),
          say,
        ),
      )
      return sumOf(await Promise.all(outcomes))
    },
    async stop() {
      for (const each of all) await each.stop()
    },
  }
}

interface Daemon {
  readonly subject: Subject
  readonly faults: Faults
}

interface Lane {
  /** Prepared when it is first asked for. */
  daemon(name: Faulty): Promise<Daemon>
  stop(): Promise<void>
}

type Env = Readonly<Record<string, string>>

/** A stack of its own, each of whose daemons can meet faults. */
async function openLane(slowMs: number): Promise<Lane> {
  const folder = await temporaryFolder()
  const state = join(folder.path, 'state')
  mkdirSync(state)
  const faultsOf = (name: Faulty) =>
    prepareFaults(join(folder.path, name), `apps/${name}/dist`, join(state, name), slowMs)
  const faults = {
    runtime: faultsOf('runtime'),
    identity: faultsOf('identity'),
    discovery: faultsOf('discovery'),
  }
  const envOf = {
    runtime: faults.runtime.env,
    identity: faults.identity.env,
    discovery: faults.discovery.env,
  }
  const services = await startServices({ env: { SELVEDGE_STATE: state }, envOf })
  const envFor = (name: Faulty): Env => ({
    ...{ SELVEDGE_STATE: state, SELVEDGE_DISCOVERY_URL: services.stack.discovery.url },
    ...envOf[name],
  })
  const owned: OwnedSubject[] = []
  const own = async (subject: Promise<OwnedSubject>): Promise<Subject> => {
    owned.push(await subject)
    return subject
  }
  const starts: Record<Faulty, () => Promise<Subject>> = {
    runtime: () => runtimeSubject(services),
    identity: () => own(identitySubject(services.stack, envFor('identity'))),
    discovery: () => own(discoverySubject(services.stack, envFor('discovery'))),
  }
  const daemons = new Map<Faulty, Promise<Daemon>>()
  const prepare = async (name: Faulty): Promise<Daemon> => {
    const subject = await starts[name]()
    await subject.work(0)
    return { subject, faults: faults[name] }
  }
  return {
    daemon(name) {
      const daemon = daemons.get(name) ?? prepare(name)
      daemons.set(name, daemon)
      return daemon
    },
    async stop() {
      for (const each of owned) await each.stop()
      await services.stop()
      await folder.remove()
    },
  }
}

type Rounds = Asked['rounds']

/** Numbers of calls, from 1: all up to the last one or to 200, or some of them by chance. */
const numbersOf = (rounds: Rounds, last: number): number[] => {
  const limit = Math.min(200, last)
  if (rounds !== 'all') return chooseNumbers(rounds, limit)
  return Array.from({ length: limit }, (_, at) => at + 1)
}

/** What the log can meet: it is open already, so that no descriptor is needed. */
const ofLog = (kinds: readonly FaultKind[]) => kinds.filter((kind) => kind !== 'EMFILE')

type Plan = (daemon: Daemon, rounds: Rounds, kinds: readonly FaultKind[]) => Promise<Round[]>

const plans: Record<Occasion, Plan> = {
  work: (daemon, rounds, kinds) => planEach(daemon, rounds, kinds, () => daemon.subject.work(1)),
  start: (daemon, rounds, kinds) => planEach(daemon, rounds, kinds, () => daemon.subject.restart()),
  async log({ subject, faults }, rounds, kinds) {
    const state = { kind: 'EIO', nth: 1, inARow: untilDisarmed } as const
    faults.arm(state, { kind: 'EIO', nth: untilDisarmed })
    await subject.work(1)
    // Not the last one: only a later line can say that one is missing.
    const numbers = numbersOf(rounds, Math.max(1, faults.logCalls() - 1))
    faults.disarm()
    // Failures of one cause have one line a minute: a new process logs them again.
    await subject.restart()
    return ofLog(kinds).flatMap((kind) => numbers.map((nth) => ({ state, log: { kind, nth } })))
  },
  async 'full disk'({ subject, faults }, rounds) {
    faults.arm({ kind: 'ENOSPC', nth: untilDisarmed })
    await subject.work(1)
    const last = faults.calls()
    faults.disarm()
    const log = { kind: 'ENOSPC', nth: 1, inARow: untilDisarmed } as const
    const isFrom = (nth: number) => ({ kind: 'ENOSPC', nth, inARow: untilDisarmed }) as const
    return numbersOf(rounds, last).map((nth) => ({ state: isFrom(nth), log }))
  },
}

/** Every call of one pass through the work, or of one start, with each kind of fault that could hit it. */
async function planEach(
  { faults }: Daemon,
  rounds: Rounds,
  kinds: readonly FaultKind[],
  pass: () => Promise<unknown>,
): Promise<Round[]> {
  faults.arm({ kind: 'EIO', nth: untilDisarmed })
  await pass()
  const lasts = kinds.map((kind) => ({ kind, last: faults.callsOf(kind) }))
  faults.disarm()
  return lasts.flatMap(({ kind, last }) => numbersOf(rounds, last).map((nth) => ({ state: { kind, nth } })))
}
