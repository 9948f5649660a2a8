/** Programs of others of which it is known what a cut takes from them: what they lose, and what not, shows that the machine is right. */

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Recording } from '../recorder/operations.ts'
import { type Recorder, record } from '../recorder/record.ts'
import type { Step, View, Work } from '../subject.ts'

/** Answers of a program, oldest first, each with its moment: one acknowledges each step. */
export type Answers = readonly { readonly at: number }[]

/**
 * Records a program that acknowledges one step after the other.
 *
 * @param work speaks to the program, and ends it
 * @param answersOf finds the answers to the steps in the recording
 * @param isIn whether a step, counted from 1, is in what was read
 */
export async function recordControl(
  command: (folder: string) => readonly string[],
  work: (child: ChildProcess, folder: string) => Promise<void>,
  answersOf: (recording: Recording) => Answers,
  isIn: (view: View, step: number) => boolean,
): Promise<Work> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'powercut-control-')))
  let recorder: Recorder | undefined
  try {
    recorder = record(folder, command(folder), {
      cwd: folder,
      env: { PATH: process.env.PATH },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    await work(recorder.process, folder)
    const recording = await recorder.read()
    const answers = answersOf(recording)
    const steps = answers.map(
      ({ at }, index): Step => ({
        what: `step ${index + 1}`,
        about: `step ${index + 1}`,
        asked: answers[index - 1]?.at ?? 0,
        answered: at,
        isIn: (view) => isIn(view, index + 1),
      }),
    )
    return { recording, steps }
  } finally {
    const child = recorder?.process
    if (child && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    if (existsSync(folder)) rmSync(folder, { recursive: true, force: true })
  }
}
