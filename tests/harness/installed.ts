import { execFileSync } from 'node:child_process'

/** Whether a program of the machine is there; a suite that needs one that lacks is skipped by name. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
