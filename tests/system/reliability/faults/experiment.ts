/** The experiments with faults: a stack, one of whose daemons meets them. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Stack, startStack, temporaryFolder } from '../../../harness/processes.ts'
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
}

interface Options {
  /** Milliseconds of a slow write. */
  readonly slowMs: number
  /** Stacks that share the rounds: most of a round is waiting. One by default. */
  readonly lanes?: number
}

/** A daemon that meets faults on one occasion after the other. */
export interface FaultyDaemon {
  meet(asked: Asked): Promise<Outcome>
  stop(): Promise<void>
}

/** @param say gets each failure as soon as it is seen */
export async function meetFaults(
  daemon: Faulty,
  { occasion, rounds, ...options }: Asked & Options,
  say: (text: string) => void = () => undefined,
): Promise<Outcome> {
  const opened = await openFaulty(daemon, options, say)
  try {
    return await opened.meet({ occasion, rounds })
  } finally {
    await opened.stop()
  }
}

/** @param say gets each failure as soon as it is seen */
export async function openFaulty(
  daemon: Faulty,
  { slowMs, lanes = 1 }: Options,
  say: (text: string) => void = () => undefined,
): Promise<FaultyDaemon> {
  const all = await Promise.all(Array.from({ length: lanes }, () => openLane(daemon, slowMs)))
  return {
    async meet({ occasion, rounds }) {
      const planned = await plans[occasion](all[0]!.subject, all[0]!.faults, rounds)
      const run = occasion === 'start' ? runStarts : runRounds
      const outcomes = all.map(({ subject, faults }, lane) =>
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

/** A stack of its own, one of whose daemons meets faults. */
async function openLane(daemon: Faulty, slowMs: number): Promise<Started & { readonly faults: Faults }> {
  const folder = await temporaryFolder()
  const state = join(folder.path, 'state')
  mkdirSync(state)
  const faults = prepareFaults(folder.path, `apps/${daemon}/dist`, join(state, daemon), slowMs)
  const { subject, stop } = await starts[daemon]({ SELVEDGE_STATE: state, ...faults.env })
  await subject.work(0)
  return {
    subject,
    faults,
    async stop() {
      await stop()
      await folder.remove()
    },
  }
}

type Env = Readonly<Record<string, string>>
type Started = { readonly subject: Subject; stop(): Promise<void> }

const starts: Record<Faulty, (env: Env) => Promise<Started>> = {
  async runtime(env) {
    const services = await startServices({ env })
    return { subject: await runtimeSubject(services), stop: services.stop }
  },
  identity: (env) => withOwned(env, identitySubject),
  discovery: (env) => withOwned(env, discoverySubject),
}

async function withOwned(
  env: Env,
  make: (stack: Stack, env: Env) => Promise<OwnedSubject>,
): Promise<Started> {
  const stack = await startStack({ env })
  const subject = await make(stack, { ...env, SELVEDGE_DISCOVERY_URL: stack.discovery.url })
  return {
    subject,
    async stop() {
      await subject.stop()
      await stack.stop()
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
const logKinds = faultKinds.filter((kind) => kind !== 'EMFILE')

const plans: Record<Occasion, (subject: Subject, faults: Faults, rounds: Rounds) => Promise<Round[]>> = {
  work: (subject, faults, rounds) => planEach(faults, rounds, (pass) => subject.work(pass)),
  start: (subject, faults, rounds) => planEach(faults, rounds, () => subject.restart()),
  async log(subject, faults, rounds) {
    const state = { kind: 'EIO', nth: 1, inARow: untilDisarmed } as const
    faults.arm(state, { kind: 'EIO', nth: untilDisarmed })
    await subject.work(1)
    // Not the last one: only a later line can say that one is missing.
    const numbers = numbersOf(rounds, Math.max(1, faults.logCalls() - 1))
    faults.disarm()
    // Failures of one cause have one line a minute: a new process logs them again.
    await subject.restart()
    return logKinds.flatMap((kind) => numbers.map((nth) => ({ state, log: { kind, nth } })))
  },
  async 'full disk'(subject, faults, rounds) {
    const last = await countCalls('ENOSPC', faults, () => subject.work(1))
    const log = { kind: 'ENOSPC', nth: 1, inARow: untilDisarmed } as const
    const isFrom = (nth: number) => ({ kind: 'ENOSPC', nth, inARow: untilDisarmed }) as const
    return numbersOf(rounds, last).map((nth) => ({ state: isFrom(nth), log }))
  },
}

/** Every call of one pass through the work, or of one start, with each kind of fault that could hit it. */
async function planEach(
  faults: Faults,
  rounds: Rounds,
  pass: (number: number) => Promise<unknown>,
): Promise<Round[]> {
  const all: Round[] = []
  for (const [at, kind] of faultKinds.entries()) {
    const last = await countCalls(kind, faults, () => pass(at + 1))
    all.push(...numbersOf(rounds, last).map((nth) => ({ state: { kind, nth } })))
  }
  return all
}

async function countCalls(kind: FaultKind, faults: Faults, pass: () => Promise<unknown>): Promise<number> {
  faults.arm({ kind, nth: untilDisarmed })
  await pass()
  const count = faults.calls()
  faults.disarm()
  return count
}
