/** The experiments with faults: a stack, one of whose daemons meets them. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startStack, temporaryFolder } from '../../harness/processes.ts'
import { startServices } from '../../harness/services.ts'
import { identitySubject } from '../subjects/identity.ts'
import { runtimeSubject } from '../subjects/runtime.ts'
import type { Subject } from '../subjects/subject.ts'
import { type FaultKind, type Faults, faultKinds, prepareFaults } from './faults.ts'
import { chooseRounds, type Outcome, type Round, runRounds, runStarts } from './rounds.ts'

export const faulty = ['runtime', 'identity'] as const
export type Faulty = (typeof faulty)[number]

interface Options {
  /** Rounds of each kind of fault; "all": every call of one pass through the work, at most 200. */
  readonly rounds: number | 'all'
  /** Whether the faults come while it starts, and not while it works. */
  readonly atStart?: boolean
  /** Milliseconds of a slow write. */
  readonly slowMs: number
}

/** @param say is told of each failure as soon as it is seen */
export async function meetFaults(
  daemon: Faulty,
  options: Options,
  say: (text: string) => void = () => undefined,
): Promise<Outcome> {
  const folder = await temporaryFolder()
  const state = join(folder.path, 'state')
  mkdirSync(state)
  const faults = prepareFaults(folder.path, join(state, daemon), options.slowMs)
  const env = { SELVEDGE_STATE: state, ...faults.env }
  const { subject, stop } = await (daemon === 'runtime' ? withRuntime(env) : withIdentity(env))
  try {
    const rounds = await plan(subject, faults, options)
    return await (options.atStart ? runStarts : runRounds)(subject, faults, rounds, say)
  } finally {
    await stop()
    await folder.remove()
  }
}

type Started = { readonly subject: Subject; stop(): Promise<void> }

async function withRuntime(env: Record<string, string>): Promise<Started> {
  const services = await startServices({ env })
  return { subject: await runtimeSubject(services), stop: services.stop }
}

async function withIdentity(env: Record<string, string>): Promise<Started> {
  const stack = await startStack({ env })
  const subject = await identitySubject(stack, { ...env, SELVEDGE_DISCOVERY_URL: stack.discovery.url })
  return {
    subject,
    async stop() {
      await subject.stop()
      await stack.stop()
    },
  }
}

/** How many calls one pass through the work, or one start, makes that a fault of this kind could hit. */
async function plan(subject: Subject, faults: Faults, { rounds, atStart }: Options): Promise<Round[]> {
  const all: Round[] = []
  await subject.work(0)
  for (const [at, kind] of faultKinds.entries()) {
    faults.arm({ kind, nth: 2 ** 31 - 1 })
    await (atStart ? subject.restart() : subject.work(at + 1))
    const last = Math.min(200, faults.calls())
    faults.disarm()
    all.push(...(rounds === 'all' ? everyCall(kind, last) : chooseRounds([kind], rounds, last)))
  }
  return all
}

const everyCall = (kind: FaultKind, last: number): Round[] =>
  Array.from({ length: last }, (_, at) => ({ kind, nth: at + 1 }))
