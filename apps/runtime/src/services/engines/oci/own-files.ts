/**
 * Files that engines make for each container and mount writable, from folders of their own: a container with a writable root could fill
 * the disk or the memory of the device through them, past its limits. The runtime gives the container these, read-only.
 */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plan } from '../engine.ts'
import { readLocalTime } from './local-time.ts'
import { nameServer } from './outbound/rules.ts'

/** Names of the files in the folder of an instance. */
export const ownFileNames = ['hosts', 'hostname', 'empty', 'resolv.conf'] as const
/** Those of a container that has the time zone of the device. */
export const timeFileNames = ['localtime', 'timezone'] as const

/** The host name of a container: of its settings, else one (RFC 1123) from its ID. */
export const hostNameOf = ({ id, settings }: Pick<Plan, 'id' | 'settings'>): string =>
  settings['MCM.HOSTNAME'] ??
  (id
    .toLowerCase()
    .split(/[^a-z0-9]/)
    .filter((each) => each !== '')
    .join('-')
    .slice(-63)
    .replace(/^-/, '') ||
    'container')

/** @param folder of the instance */
export function writeOwnFiles(folder: string, plan: Plan): void {
  const name = hostNameOf(plan)
  const hosts = plan.settings['MCM.HOSTS'].map((each) => {
    const [host, address] = each.split('=')
    return `${address} ${host}\n`
  })
  const contents: Record<(typeof ownFileNames)[number], string> = {
    hosts: `127.0.0.1 localhost\n127.0.1.1 ${name}\n${hosts.join('')}`,
    hostname: `${name}\n`,
    empty: '',
    'resolv.conf': `nameserver ${nameServer}\n`,
  }
  for (const each of ownFileNames) write(join(folder, each), contents[each])
  if (!plan.settings['MCM.LOCAL_TIME']) return
  const { zone, rules } = readLocalTime()
  write(join(folder, 'localtime'), rules)
  write(join(folder, 'timezone'), `${zone}\n`)
}

function write(path: string, content: string | Buffer): void {
  writeFileSync(path, content)
  // For the users of the container, whatever the umask of the runtime.
  chmodSync(path, 0o644)
}

interface MountParts {
  /** There it has no name server, or that of the runtime; in the network of the engine, that of the engine. */
  readonly hasOwnNetwork: boolean
  readonly hasWayOut: boolean
  readonly isPodman: boolean
  readonly hasLocalTime: boolean
}

/** The mounts of these files. */
export const ownFileMounts = (
  folder: string,
  { hasOwnNetwork, hasWayOut, isPodman, hasLocalTime }: MountParts,
): string[] => [
  `${folder}/hosts:/etc/hosts:ro`,
  `${folder}/hostname:/etc/hostname:ro`,
  ...(hasOwnNetwork ? [`${folder}/${hasWayOut ? 'resolv.conf' : 'empty'}:/etc/resolv.conf:ro`] : []),
  ...(isPodman ? [`${folder}/empty:/run/.containerenv:ro`] : []),
  ...(hasLocalTime ? timeFileNames.map((each) => `${folder}/${each}:/etc/${each}:ro`) : []),
]
