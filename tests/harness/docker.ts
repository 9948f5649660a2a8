/** A Docker of the tests' own: storage, networks and socket in a temporary folder. Needs root. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stepLimitMs } from './limits.ts'
import { mountsBelow } from './podman.ts'
import { reserveRange } from './podman-networks.ts'

export interface Docker {
  readonly socket: string
  /** Runs the command line. @returns what it printed */
  run(...args: readonly string[]): string
  /** The same with content for standard input. */
  runWith(input: Buffer, ...args: readonly string[]): string
  stop(): Promise<void>
}

/** It changes neither the default bridge nor the packet filter of this machine. */
const withoutNetwork = [
  '--bridge=none',
  '--iptables=false',
  '--ip6tables=false',
  '--ip-forward=false',
  '--ip-masq=false',
  '--userland-proxy=false',
]

/** The daemon makes it for its plugins, wherever its other folders are. */
const pluginFolders = ['/run/docker/plugins', '/run/docker']

interface DockerOptions {
  /** With its programs, before those of this machine. */
  readonly folders?: readonly string[]
  /** All its containers are in one user namespace. Needs the right to mount. */
  readonly isRemapped?: boolean
}

/** In its mount namespace alone, a user of the device has user IDs for containers. */
const withIds = `
for each in subuid subgid; do mount --bind "$0" "/etc/$each"; done
exec "$@"`
const remap = { user: 'www-data', ids: 'www-data:1879100000:65536\n' }

/** Starts the daemon, with its defaults otherwise. @throws Error if it does not start */
export async function startDocker({ folders = [], isRemapped = false }: DockerOptions = {}): Promise<Docker> {
  const folder = mkdtempSync(join(tmpdir(), 'dock-'))
  // For root of its user namespace.
  chmodSync(folder, 0o711)
  const env = { ...process.env, PATH: [...folders, process.env.PATH].join(':') }
  const socket = `${folder}/docker.sock`
  const host = `--host=unix://${socket}`
  const hadPlugins = existsSync(pluginFolders[0]!)
  const { second, release } = await reserveRange()
  const config = {
    // Its key would be in /etc.
    'deprecated-key-path': `${folder}/key.json`,
    'default-address-pools': [{ base: `10.${second}.128.0/17`, size: 24 }],
  }
  writeFileSync(`${folder}/daemon.json`, JSON.stringify(config))
  const own = [`--data-root=${folder}/data`, `--exec-root=${folder}/exec`, `--pidfile=${folder}/pid`]
  writeFileSync(`${folder}/ids`, remap.ids)
  const [program = '', ...args] = [
    ...(isRemapped
      ? ['unshare', '--mount', '--propagation', 'slave', 'sh', '-ec', withIds, `${folder}/ids`]
      : []),
    ...['dockerd', host, `--config-file=${folder}/daemon.json`, ...own, ...withoutNetwork],
    ...(isRemapped ? [`--userns-remap=${remap.user}`] : []),
  ]
  const daemon = spawn(program, args, { env, stdio: 'ignore' })
  const exited = once(daemon, 'exit')
  const runWith = (input: Buffer, ...args: readonly string[]): string =>
    execFileSync('docker', [host, ...args], { env, encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'pipe'] })
  const run = (...args: readonly string[]) => runWith(Buffer.alloc(0), ...args)
  const stop = async () => {
    daemon.kill()
    await exited
    for (const mount of mountsBelow(folder)) execFileSync('umount', ['--lazy', mount])
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
    if (!hadPlugins) for (const each of pluginFolders) if (existsSync(each)) rmdirSync(each)
    release()
  }
  const end = performance.now() + stepLimitMs
  while (!existsSync(socket) && daemon.exitCode === null && performance.now() < end) await sleep(50)
  if (existsSync(socket)) return { socket, run, runWith, stop }
  await stop()
  throw new Error('dockerd does not start on this machine')
}
