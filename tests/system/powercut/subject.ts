/** What is put to the test: a program with its work, how what it stored is read, and how it is started again. */
import type { Recording } from './recorder/operations.ts'

/** A change that the program acknowledged. */
export interface Step {
  readonly what: string
  /** Steps about the same thing: after a later one, the earlier one need not be seen any more. */
  readonly about: string
  /** Moments of the recording between which the program was asked and answered. */
  readonly asked: number
  readonly answered: number
  /** Whether what was read after a cut shows it. */
  readonly isIn: (view: View) => boolean
}

/** What was read of each part. */
export type View = Readonly<Record<string, unknown>>

/** Files that are opened together. */
export interface Part {
  readonly name: string
  readonly owns: (path: string) => boolean
  /**
   * Opens them with the program's own code.
   *
   * @param folder the one that was recorded, with what a cut left in it
   * @throws Error where the program would not start
   */
  read(folder: string): Promise<PartView>
}

export interface PartView {
  readonly facts: unknown
  /** The part as a whole: after a cut it is one that it was at some moment before. Undefined where a part is no whole. */
  readonly whole?: string
  /** What the program would tell a person. */
  readonly alarms: readonly string[]
}

/** What is different from the built program on an empty disk that works. */
export interface Life {
  /** In place of the built program. */
  readonly program?: string | undefined
  /** The work of the process before, which was killed. */
  readonly earlier?: Work | undefined
  /** `later`, or the name of a file: see `fail-syncs.cjs`. */
  readonly failingSyncs?: string | undefined
}

export interface Subject {
  readonly name: string
  /** Makes the work, from the first start on. */
  record(life?: Life): Promise<Work>
  readonly parts: readonly Part[]
  /** What can't be at once, in words. */
  readonly contradictions: (view: View) => readonly string[]
  /** Starts the whole program on a state. @returns what is wrong; its end leaves the folder as it is */
  start?(folder: string): Promise<readonly string[]>
}

export interface Work {
  /** Position from which on the power is cut: what is before it was done by a process that was killed. */
  readonly begins?: number
  readonly recording: Recording
  readonly steps: readonly Step[]
}
