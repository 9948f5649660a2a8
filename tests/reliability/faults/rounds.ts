/**
 * Rounds of faults: one system call fails while a daemon works. Nothing may be acknowledged that is not there after a kill, the
 * daemon goes on, says what the cause was, and works again without help.
 */
import { exitCodes } from '@selvedge/service-kit/lifecycle'
import type { Step, Subject } from '../subjects/subject.ts'
import type { FaultKind, Faults } from './faults.ts'

export interface Round {
  readonly kind: FaultKind
  readonly nth: number
}

export interface Outcome {
  readonly rounds: number
  /** Rounds in which a call failed. */
  readonly hits: number
  /** Refusals by their word. */
  readonly refusals: Readonly<Record<string, number>>
  readonly failures: readonly string[]
}

/** Reasons that name no cause. */
const nameless = /internal_error|server_error|^HTTP 500|bad_answer/
/** Files that the answers stand on. Others are written beside them, such as the list of revoked tokens, and written again later. */
const ofWork = /\.(a|b|db|db-wal)$|\/images\//
/** Attempts within which it works again, a quarter of a second apart: a function that ended is started after 8 s at most. */
const attempts = 80

export async function runRounds(
  subject: Subject,
  faults: Faults,
  rounds: readonly Round[],
  say: (text: string) => void,
): Promise<Outcome> {
  const refusals: Record<string, number> = {}
  const failures: string[] = []
  let hits = 0
  let said = 0
  for (const [at, { kind, nth }] of rounds.entries()) {
    faults.arm({ kind, nth })
    const steps: Step[] = []
    for (let pass = 0; pass < 3 && steps.every(({ refused }) => refused === undefined); pass++) {
      steps.push(...(await subject.work(at * 10 + pass)))
      if (faults.calls() >= nth) break
    }
    const hit = faults.disarm()
    const where = `${kind} at call ${nth}${hit ? `, ${hit.operation} of ${hit.path}` : ''}`
    if (hit) hits++
    for (const { what, refused } of steps) {
      if (refused === undefined) continue
      refusals[refused] = (refusals[refused] ?? 0) + 1
      if (nameless.test(refused)) failures.push(`${where}: ${what} was refused without its cause: ${refused}`)
    }
    if (hit?.isUnsynced && ofWork.test(hit.path) && steps.every(({ refused }) => refused === undefined))
      failures.push(`${where}: everything was acknowledged, and the file was never synced`)
    if (!subject.isRunning()) failures.push(`${where}: the daemon ended`)
    else if (at % 2 === 0)
      failures.push(...(await recover(subject, at * 10 + 5)).map((each) => `${where}: ${each}`))
    await subject.restart()
    failures.push(...(await subject.missing()).map((each) => `${where}: ${each}`))
    for (const each of failures.slice(said)) say(each)
    said = failures.length
  }
  return { rounds: rounds.length, hits, refusals, failures }
}

/** The same while it starts: it starts, or ends with a code that says that a later start may succeed, and the next start does. */
export async function runStarts(
  subject: Subject,
  faults: Faults,
  rounds: readonly Round[],
  say: (text: string) => void,
): Promise<Outcome> {
  const refusals: Record<string, number> = {}
  const failures: string[] = []
  let hits = 0
  for (const [at, { kind, nth }] of rounds.entries()) {
    for (const { what, refused } of await subject.work(100_000 + at))
      if (refused !== undefined) failures.push(`${what} was refused without a fault: ${refused}`)
    faults.arm({ kind, nth })
    const code = await subject.restart().then(
      () => 'it started',
      (cause: { code?: number | null }) => `exit code ${cause.code}`,
    )
    const hit = faults.disarm()
    if (hit) hits++
    refusals[code] = (refusals[code] ?? 0) + 1
    const where = `${kind} at call ${nth} of a start${hit ? `, ${hit.operation} of ${hit.path}` : ''}`
    const found: string[] = []
    if (!['it started', `exit code ${exitCodes.failed}`].includes(code)) found.push(`${where}: ${code}`)
    await subject.restart()
    found.push(...(await subject.missing()).map((each) => `${where}: ${each}`))
    for (const each of found) say(each)
    failures.push(...found)
  }
  return { rounds: rounds.length, hits, refusals, failures }
}

/** It works again by itself. */
async function recover(subject: Subject, round: number): Promise<string[]> {
  let refused: Step[] = []
  for (let attempt = 0; attempt < attempts; attempt++) {
    refused = (await subject.work(round)).filter((step) => step.refused !== undefined)
    if (refused.length === 0) return []
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  return refused.map(({ what, refused }) => `${what} is still refused after the fault: ${refused}`)
}

/** Not random between runs: what failed once fails again. @param count of rounds of each kind @param last the highest call */
export function chooseRounds(
  kinds: readonly FaultKind[],
  count: number,
  last: number,
  seed = 20_261_122,
): Round[] {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return 1 + Math.floor((state / 2 ** 32) * last)
  }
  return kinds.flatMap((kind) => Array.from({ length: count }, () => ({ kind, nth: next() })))
}
