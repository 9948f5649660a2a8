import { spawnSync } from 'node:child_process'

/** The version of a program of this machine, which it prints. @param pattern with the version as its first group */
export function installedVersion(program: string, option: string, pattern: RegExp): string {
  const { stdout, stderr } = spawnSync(program, [option], { encoding: 'utf8' })
  return pattern.exec(`${stdout}${stderr}`)?.[1] ?? '?'
}
