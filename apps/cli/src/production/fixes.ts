/** Runs what fixes failed checks without a decision of a person. */
import { spawnSync } from 'node:child_process'
import type { Check } from './check.ts'

interface Fix {
  readonly command: string
  /** Why it failed; "" if it did not. */
  readonly problem: string
}

/** Milliseconds for one command: a service may need its stop timeout. */
const timeoutMs = 120_000
/** The commands run as root: the caller's PATH does not choose what they start. */
const path = '/usr/sbin:/usr/bin:/sbin:/bin'

/** @returns each command that was run, once, in the order of the checks */
export function applyFixes(checks: readonly Check[]): readonly Fix[] {
  const commands = new Map(
    checks.flatMap(({ ok, fix }) => (ok || fix === undefined ? [] : [[fix.join(' '), fix] as const])),
  )
  return [...commands].map(([command, [program, ...args]]) => {
    const { status, stderr, error } = spawnSync(program!, args, {
      ...{ encoding: 'utf8', timeout: timeoutMs, stdio: ['ignore', 'ignore', 'pipe'] },
      env: { PATH: path, LC_ALL: 'C' },
    })
    const problem = (stderr ?? '').trim().split('\n').at(-1) || error?.message || `exit code ${status}`
    return { command, problem: status === 0 ? '' : problem }
  })
}
