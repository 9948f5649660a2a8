/**
 * A clock that a test sets for whole programs. By a preload and not by faketime: it works wherever Node does, and needs no program of
 * the machine.
 */
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface ProgramClock {
  /** For the environment of the programs. */
  readonly env: Readonly<Record<string, string>>
  /** What it shows, in Unix milliseconds. */
  now(): number
  /**
   * Sets it this many milliseconds ahead of the real clock (behind, if negative), as when an administrator sets the clock of a
   * machine: the monotonic clock and the timers stay. A program sees it the next time that it reads its clock.
   */
  set(milliseconds: number): Promise<void>
  /** Sets it this many milliseconds ahead of what it shows. */
  advance(milliseconds: number): Promise<void>
  /**
   * Lets time pass, of both clocks and of the timers; resolves when every program has called the timers that were due. A program that
   * is stopped by a signal does so when it continues.
   */
  pass(milliseconds: number): Promise<void>
  /** Lets second after second pass while something is so, with a moment for what the programs do in it. */
  passWhile(isSo: () => boolean | Promise<boolean>): Promise<void>
  remove(): Promise<void>
}

const preload = join(import.meta.dirname, 'shifted-clock.cjs')

export async function createProgramClock(start = 0): Promise<ProgramClock> {
  const folder = await mkdtemp(join(tmpdir(), 'clock-'))
  const file = join(folder, 'shift')
  let shift = start
  let passed = 0
  // Replaced in one step: a program never reads an empty file.
  const write = () => {
    writeFileSync(`${file}.new`, `${shift} ${passed}`)
    renameSync(`${file}.new`, file)
  }
  const set = async (milliseconds: number) => {
    shift = milliseconds
    write()
  }
  const pass = async (milliseconds: number) => {
    shift += milliseconds
    passed += milliseconds
    write()
    await Promise.all(
      readdirSync(folder)
        .filter(isOfProgram)
        .map((name) => moveTimers(join(folder, name))),
    )
  }
  write()
  return {
    env: { NODE_OPTIONS: `--require=${preload}`, SELVEDGE_TEST_CLOCK: file },
    set,
    advance: (milliseconds) => set(shift + milliseconds),
    now: () => Date.now() + shift,
    pass,
    async passWhile(isSo) {
      while (await isSo()) {
        await pass(1000)
        await sleep(10)
      }
    },
    remove: () => rm(folder, { recursive: true }),
  }
}

/** The socket of a program, named after its process. */
const isOfProgram = (name: string): boolean => /^shift\.\d+$/.test(name)

async function moveTimers(path: string): Promise<void> {
  const socket = connect(path).resume()
  // A program that exited has left its socket behind.
  socket.on('error', () => undefined)
  const closed = new Promise<true>((resolve) => socket.once('close', () => resolve(true)))
  // A signal stops a program when that next runs, which may be after this.
  while (!isStopped(path)) if (await Promise.race([closed, sleep(20)])) return
}

function isStopped(path: string): boolean {
  try {
    return /\) T /.test(readFileSync(`/proc/${path.split('.').at(-1)}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Milliseconds. */
export const days = (count: number): number => count * 86_400_000
export const years = (count: number): number => days(365 * count)
