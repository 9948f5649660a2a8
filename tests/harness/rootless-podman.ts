/**
 * A Podman of an ordinary user that no other process has, with user IDs for containers. That user and its IDs exist for Podman only: in a mount
 * namespace with its own `/etc/passwd`. Needs root.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stepLimitMs } from './limits.ts'
import { containersConf } from './podman.ts'
import { root } from './processes.ts'

/** Of this process alone. */
const user = 1_879_050_000 + (process.pid % 50_000)
const subordinate = 1_879_100_000
const asUser = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'] as const

/** Whether that user can read the checkout, and Podman can give its containers a network. */
export const canRunRootless = (): boolean =>
  process.getuid?.() === 0 &&
  existsSync('/dev/net/tun') &&
  spawnSync(asUser[0], [...asUser.slice(1), 'test', '-r', join(root, 'package.json')]).status === 0

export interface RootlessPodman {
  readonly socket: string
  /** The ordinary user. */
  readonly user: number
  /** A folder of that user. */
  readonly folder: string
  /** The environment of its session. */
  readonly env: Readonly<Record<string, string>>
  /** Runs the command line. @returns what it printed */
  run(...args: readonly string[]): string
  stop(): Promise<void>
}

/** Devices that every user of a device may open, as udev makes them. */
const script = `
mount --make-rshared /
mount -t tmpfs devices "$0/dev"
mknod -m 666 "$0/dev/tun" c 10 200
mount --bind "$0/dev/tun" /dev/net/tun
for each in passwd group subuid subgid; do mount --bind "$0/etc/$each" "/etc/$each"; done
exec "$@"`

export async function startRootlessPodman(): Promise<RootlessPodman> {
  const folder = mkdtempSync(join(tmpdir(), 'pod-'))
  chmodSync(folder, 0o755)
  for (const each of ['etc', 'dev', 'home', 'run']) mkdirSync(join(folder, each))
  for (const each of ['home', 'run']) chownSync(join(folder, each), user, user)
  chmodSync(join(folder, 'run'), 0o700)
  const name = `sv${process.pid}`
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text)
  write(
    'etc/passwd',
    `${readFileSync('/etc/passwd', 'utf8')}${name}:x:${user}:${user}::${folder}/home:/bin/sh\n`,
  )
  write('etc/group', `${readFileSync('/etc/group', 'utf8')}${name}:x:${user}:\n`)
  for (const each of ['subuid', 'subgid']) write(`etc/${each}`, `${name}:${subordinate}:65536\n`)
  write('containers.conf', containersConf)
  write(
    'storage.conf',
    `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/home/graph"\nrunroot = "${folder}/run/c"\n`,
  )
  const socket = join(folder, 'run/podman.sock')
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: `${folder}/home`,
    XDG_RUNTIME_DIR: `${folder}/run`,
    CONTAINERS_CONF: `${folder}/containers.conf`,
    CONTAINERS_STORAGE_CONF: `${folder}/storage.conf`,
    DISABLE_HC_SYSTEMD: 'true',
  }
  const options = { env, cwd: `${folder}/home` }
  const service = spawn(
    'unshare',
    [
      ...['--mount', '--propagation', 'slave', 'sh', '-ec', script, folder],
      ...[...asUser, 'podman', 'system', 'service', '--time', '0', `unix://${socket}`],
    ],
    { ...options, stdio: 'ignore' },
  )
  const exited = once(service, 'exit')
  const run = (...args: readonly string[]) =>
    execFileSync(
      'nsenter',
      [`--mount=/proc/${service.pid}/ns/mnt`, `--wdns=${folder}/home`, ...asUser, 'podman', ...args],
      {
        ...options,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
  async function stop() {
    if (service.exitCode === null) run('rm', '--all', '--force', '--time', '0')
    // All that this user started: some is in the background.
    spawnSync(asUser[0], [...asUser.slice(1), 'kill', '-KILL', '-1'])
    await exited
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }
  const end = performance.now() + stepLimitMs
  while (!existsSync(socket) && service.exitCode === null && performance.now() < end) await sleep(50)
  if (existsSync(socket)) return { socket, user, folder: `${folder}/home`, env, run, stop }
  await stop()
  throw new Error('Podman does not start as an ordinary user on this machine')
}
