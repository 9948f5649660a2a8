/**
 * A clock that a test sets for a whole program. By a preload and not by faketime: it works wherever Node does, needs no program of
 * the machine, and leaves the monotonic clock alone, as setting a real clock does.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export interface ProgramClock {
  /** For the environment of the program. */
  readonly env: Readonly<Record<string, string>>
  /** Sets it this many milliseconds ahead of the real clock (behind, if negative); returns when the program shows it. */
  set(milliseconds: number): Promise<void>
  /** Sets it this many milliseconds ahead of what it shows; returns when the program shows it. */
  advance(milliseconds: number): Promise<void>
  /**
   * Lets time pass in the program: the wall clock and the monotonic one move, and timers that are due by then fire. Timers of
   * Node itself, such as the time limits of its HTTP server, do not notice. Returns when the program shows it.
   */
  pass(milliseconds: number): Promise<void>
  remove(): Promise<void>
}

const preload = join(import.meta.dirname, 'shifted-clock.cjs')

export async function createProgramClock(start = 0): Promise<ProgramClock> {
  const folder = await mkdtemp(join(tmpdir(), 'clock-'))
  const file = join(folder, 'shift')
  const seen = `${file}.seen`
  mkdirSync(seen)
  let shift = start
  let passed = 0
  // Replaced in one step: the program never reads an empty file.
  const write = () => {
    writeFileSync(`${file}.new`, `${shift} ${passed}`)
    renameSync(`${file}.new`, file)
  }
  const show = async () => {
    write()
    while (!readdirSync(seen).every((name) => hasSeen(seen, name, `${shift} ${passed}`))) await pause(2)
  }
  const set = (milliseconds: number) => {
    shift = milliseconds
    return show()
  }
  write()
  return {
    env: { NODE_OPTIONS: `--require=${preload}`, SELVEDGE_TEST_CLOCK: file },
    set,
    advance: (milliseconds) => set(shift + milliseconds),
    pass(milliseconds) {
      passed += milliseconds
      return show()
    },
    remove: () => rm(folder, { recursive: true }),
  }
}

/** Whether a thread shows the time, or can't: its program exited, or was stopped by a signal. @param name `<pid>-<thread>` */
function hasSeen(folder: string, name: string, shown: string): boolean {
  try {
    if (readFileSync(join(folder, name), 'utf8') === shown) return true
    const state = /\) (\w)/.exec(readFileSync(`/proc/${name.split('-')[0]}/stat`, 'utf8'))?.[1]
    if (state !== 'Z' && state !== 'X') return state === 'T'
  } catch {
    // Its program has exited, or its thread.
  }
  rmSync(join(folder, name), { force: true })
  return true
}

/** Milliseconds. */
export const days = (count: number): number => count * 86_400_000
export const years = (count: number): number => days(365 * count)
