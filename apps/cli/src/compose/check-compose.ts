/** Reads a Compose file into the plan of an app, with every problem by name and line. It calls no service and changes no file. */
import { type AppPlan, appPlan } from '@selvedge/protocol'
import { type AppOptions, readApp } from './app.ts'
import { type Opened, type OpenOptions, openCompose } from './open-compose.ts'
import { createReport, type Remark, type Report } from './report.ts'
import type { Place } from './tree.ts'
import { Unreadable } from './unreadable.ts'

export interface Checked {
  /** Compose files in the order in which they were merged. */
  readonly files: readonly string[]
  /** null if there is a problem. */
  readonly plan: AppPlan | null
  readonly problems: readonly Remark[]
  /** Problems beyond those that are listed. */
  readonly moreProblems: number
  /** What a person should see before the app is deployed. */
  readonly warnings: readonly Remark[]
  readonly notes: readonly Remark[]
  readonly moreNotes: number
}

/** By file and line, as a person reads it. */
const inOrder = (remarks: readonly Remark[]): readonly Remark[] =>
  [...remarks].sort((one, two) =>
    one.file === two.file ? one.line - two.line || one.column - two.column : one.file < two.file ? -1 : 1,
  )

/** The limits of a plan that no key has by itself, such as the length of a path. */
function checkPlan(plan: AppPlan, start: Place, report: Report): void {
  for (const { path, message } of appPlan.safeParse(plan).error?.issues ?? [])
    report.problem(
      start,
      '',
      `The plan of the app has an invalid value at ${path.join('.')}: ${message}. Change it.`,
    )
}

/** @throws UsageError for a file of the command line that cannot be read */
export const checkCompose = async (options: OpenOptions & AppOptions): Promise<Checked> =>
  (await readCompose(options)).checked

/** What was checked, and the opened files, from which values of secrets are read. @throws as {@link checkCompose} */
export async function readCompose(
  options: OpenOptions & AppOptions,
): Promise<{ readonly checked: Checked; readonly opened: Opened | undefined }> {
  const report = createReport()
  let opened: Opened | undefined
  let plan: AppPlan | undefined
  try {
    opened = await openCompose(options, report)
    plan = await readApp(opened, options, report)
    if (plan) checkPlan(plan, opened.tree.place, report)
  } catch (cause) {
    if (!(cause instanceof Unreadable)) throw cause
  }
  const checked = {
    files: opened?.names ?? [],
    plan: report.problems.length === 0 && plan ? plan : null,
    problems: inOrder(report.problems),
    moreProblems: report.left.problems,
    warnings: inOrder(report.warnings),
    notes: inOrder(report.notes),
    moreNotes: report.left.notes,
  }
  return { checked, opened }
}
