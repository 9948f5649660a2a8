/**
 * A clock that a test sets for a whole program. By a preload and not by faketime: it works wherever Node does, needs no program of
 * the machine, and leaves the monotonic clock alone, as setting a real clock does.
 */
import { renameSync, writeFileSync } from 'node:fs'
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
  remove(): Promise<void>
}

const preload = join(import.meta.dirname, 'shifted-clock.cjs')
/** Milliseconds after which a program has read the file again, twice over. */
const settle = 25

export async function createProgramClock(start = 0): Promise<ProgramClock> {
  const folder = await mkdtemp(join(tmpdir(), 'clock-'))
  const file = join(folder, 'shift')
  let shift = start
  // Replaced in one step: the program never reads an empty file.
  const write = (milliseconds: number) => {
    shift = milliseconds
    writeFileSync(`${file}.new`, String(shift))
    renameSync(`${file}.new`, file)
  }
  const set = async (milliseconds: number) => {
    write(milliseconds)
    await pause(settle)
  }
  write(start)
  return {
    env: { NODE_OPTIONS: `--require=${preload}`, SELVEDGE_TEST_CLOCK: file },
    set,
    advance: (milliseconds) => set(shift + milliseconds),
    remove: () => rm(folder, { recursive: true }),
  }
}

/** Milliseconds. */
export const days = (count: number): number => count * 86_400_000
export const years = (count: number): number => days(365 * count)
