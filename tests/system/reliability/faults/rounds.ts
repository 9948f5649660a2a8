/**
 * Rounds of faults: one system call fails while a daemon works. Nothing may be acknowledged that is not there after a kill, the
 * daemon goes on, says what the cause was, and works again without help.
 */
import { exitCodes } from '@selvedge/service-kit/lifecycle'
import { droppedMessage } from '@selvedge/service-kit/log'
import type { Step, Subject } from '../subjects/subject.ts'
import { type Fault, type Faults, type Hits, untilDisarmed } from './faults.ts'

/** Faults that are there at the same time. */
export interface Round {
  readonly state: Fault
  readonly log?: Fault
}

export interface Outcome {
  readonly rounds: number
  /** Rounds in which a call failed, and in which a write of the log did. */
  readonly hits: number
  readonly logHits: number
  /** Refusals by their word. */
  readonly refusals: Readonly<Record<string, number>>
  readonly failures: readonly string[]
}

export function sumOf(outcomes: readonly Outcome[]): Outcome {
  const refusals: Record<string, number> = {}
  for (const each of outcomes)
    for (const [word, count] of Object.entries(each.refusals)) refusals[word] = (refusals[word] ?? 0) + count
  const sum = (count: (outcome: Outcome) => number) =>
    outcomes.reduce((total, each) => total + count(each), 0)
  return {
    rounds: sum(({ rounds }) => rounds),
    hits: sum(({ hits }) => hits),
    logHits: sum(({ logHits }) => logHits),
    refusals,
    failures: outcomes.flatMap(({ failures }) => failures),
  }
}

/** Reasons that name no cause, or another one. */
const nameless = /internal_error|server_error|invalid_dpop_proof|^HTTP 500|bad_answer/
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
  let [hits, logHits] = [0, 0]
  let said = 0
  for (const [at, round] of rounds.entries()) {
    const logged = subject.errors().length
    faults.arm(round.state, round.log)
    const steps: Step[] = []
    for (let pass = 0; pass < 3 && !isMet(round, faults, steps); pass++)
      steps.push(...(await subject.work(at * 10 + pass)))
    const hit = faults.disarm()
    const where = describe(round, hit)
    if (hit.state) hits++
    if (hit.log > 0) logHits++
    const found = judgeSteps(steps, hit)
    if (!subject.isRunning()) found.push('the daemon ended')
    else if (at % 2 === 0) found.push(...(await recover(subject, at * 10 + 5)))
    found.push(...judgeLog(subject.errors().slice(logged), round, hit))
    for (const { refused } of steps)
      if (refused !== undefined) refusals[refused] = (refusals[refused] ?? 0) + 1
    await subject.restart()
    found.push(...(await subject.missing()))
    failures.push(...found.map((each) => `${where}: ${each}`))
    for (const each of failures.slice(said)) say(each)
    said = failures.length
  }
  return { rounds: rounds.length, hits, logHits, refusals, failures }
}

/** Whether nothing more needs to be asked: lines that are missing can only be reported by a later one. */
function isMet({ state, log }: Round, faults: Faults, steps: readonly Step[]): boolean {
  if (log && log.inARow === undefined) return faults.logCalls() > log.nth
  return steps.some(({ refused }) => refused !== undefined) || faults.calls() >= state.nth
}

const describeFault = ({ kind, nth, inARow }: Fault): string =>
  `${kind} at call ${nth}${inARow === untilDisarmed ? ' and all later ones' : ''}`

function describe({ state, log }: Round, hit: Hits): string {
  const file = hit.state ? `, ${hit.state.operation} of ${hit.state.path}` : ''
  const ofLog = log ? `; of the log ${describeFault(log)}` : ''
  return `${describeFault(state)}${file}${ofLog}`
}

/** Each refusal names its cause, and nothing is acknowledged that was never synced. */
function judgeSteps(steps: readonly Step[], { state }: Hits): string[] {
  const failures: string[] = []
  for (const { what, refused } of steps)
    if (refused !== undefined && nameless.test(refused))
      failures.push(`${what} was refused without its cause: ${refused}`)
  const isAllAcknowledged = steps.every(({ refused }) => refused === undefined)
  if (state?.isUnsynced && ofWork.test(state.path) && isAllAcknowledged)
    failures.push('everything was acknowledged, and the file was never synced')
  return failures
}

/** Each line of the log is whole; after lines that could not be written, the next one that is written says so. */
function judgeLog(text: string, { log }: Round, hit: Hits): string[] {
  const lines = text.split('\n').filter((line) => line !== '')
  const torn = lines.filter((line) => !isJson(line))
  const failures = torn.map((line) => `a line of the log is torn: ${line.slice(0, 200)}`)
  const isDropped = hit.log > 0 && (log?.kind === 'EIO' || log?.kind === 'ENOSPC')
  // The faults of a whole pass may have left nothing to log.
  const isSilent = log?.inARow === untilDisarmed && lines.length === 0
  if (isDropped && !isSilent && !lines.some((line) => line.includes(droppedMessage)))
    failures.push('lines of the log were lost, and the log does not say so')
  return failures
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
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
  for (const [at, { state }] of rounds.entries()) {
    for (const { what, refused } of await subject.work(100_000 + at))
      if (refused !== undefined) failures.push(`${what} was refused without a fault: ${refused}`)
    faults.arm(state)
    const code = await subject.restart().then(
      () => 'it started',
      (cause: { code?: number | null }) => `exit code ${cause.code}`,
    )
    const hit = faults.disarm()
    if (hit.state) hits++
    refusals[code] = (refusals[code] ?? 0) + 1
    const where = `while it starts, ${describe({ state }, hit)}`
    const found: string[] = []
    if (!['it started', `exit code ${exitCodes.failed}`].includes(code)) found.push(`${where}: ${code}`)
    await subject.restart()
    found.push(...(await subject.missing()).map((each) => `${where}: ${each}`))
    for (const each of found) say(each)
    failures.push(...found)
  }
  return { rounds: rounds.length, hits, logHits: 0, refusals, failures }
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

/** Not random between runs: what failed once fails again. @param last the highest number */
export function chooseNumbers(count: number, last: number, seed = 20_261_122): number[] {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return 1 + Math.floor((state / 2 ** 32) * last)
  }
  return Array.from({ length: count }, next)
}
