/** The programs of systemd, by their whole path: the commands run as root, and `PATH` does not choose what they start. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { UsageError } from '../failure.ts'

/** Units that the packages and tarballs have. */
const serviceNames = ['selvedge', 'selvedge-identity', 'selvedge-discovery'] as const

/** State folder of an installed service. */
export const serviceState = '/var/lib/selvedge'

const folders = ['/usr/bin', '/bin']

/** @throws UsageError where systemd is missing */
export function findTool(name: 'systemctl' | 'journalctl' | 'systemd-sysusers'): string {
  const found = folders.map((folder) => `${folder}/${name}`).find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new UsageError(
    `${name} is not installed`,
    'The service commands need systemd. Without it, start bin/selvedge-runtime with the init system of the machine.',
  )
}

/** Runs a program of systemd. @returns its output @throws Error with what it wrote if it fails */
export function runTool(name: Parameters<typeof findTool>[0], args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(findTool(name), args, { encoding: 'utf8' })
  if (status === 0) return stdout
  throw new Error(`${name} ${args[0]} failed: ${(stderr || error?.message || `exit code ${status}`).trim()}`)
}

export const serviceArgument = {
  name: '[service]',
  description: 'systemd unit; default selvedge, the runtime',
  choices: serviceNames,
}
