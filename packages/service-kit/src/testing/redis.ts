import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

/** A cluster of a test: three primaries with a replica each, on the loopback interface, in a temporary folder. */
export interface RedisCluster {
  readonly urls: readonly string[]
  /** Kills one server as a power cut would; or ends it in order, with SIGTERM. */
  kill(port: number, signal?: 'SIGKILL' | 'SIGTERM'): void
  /** Suspends the process of a server, and resumes it. */
  freeze(port: number): void
  thaw(port: number): void
  /** Starts a killed one again, with what it had on its disk. */
  revive(port: number): Promise<void>
  /** Runs a command of the engine's own client. */
  command(port: number, ...args: string[]): string
  readonly ports: readonly number[]
  stop(): Promise<void>
}

/** The programs of Valkey, or those of Redis. Undefined where neither is installed. */
export function findRedis(): { server: string; cli: string } | undefined {
  for (const name of ['valkey', 'redis']) {
    const find = (program: string) =>
      (process.env.PATH ?? '')
        .split(':')
        .map((each) => join(each, program))
        .find(existsSync)
    const server = find(`${name}-server`)
    const cli = find(`${name}-cli`)
    if (server && cli) return { server, cli }
  }
  return undefined
}

/**
 * @param primaries one, or three and more
 * @param replicas of each
 * @param announced of a single server: the port under which clients find it, such as that of a proxy
 */
export async function startRedisCluster(
  primaries = 3,
  replicas = 1,
  announced = async (port: number) => port,
): Promise<RedisCluster> {
  const programs = findRedis()
  if (!programs) throw new Error('neither Valkey nor Redis is installed')
  const folder = mkdtempSync(join(tmpdir(), 'redis-'))
  const ports: number[] = []
  while (ports.length < primaries * (1 + replicas)) {
    ports.push(await freePort(10_000))
  }
  const servers = new Map<number, ChildProcess>()
  const command = (port: number, ...args: string[]) =>
    spawnSync(programs.cli, ['-p', String(port), ...args], { encoding: 'utf8' }).stdout
  const publicPorts = new Map<number, number>()
  for (const port of ports) publicPorts.set(port, await announced(port))
  const start = async (port: number) => {
    const own = join(folder, String(port))
    mkdirSync(own, { recursive: true })
    const args = argumentsOf(port, publicPorts.get(port)!, own)
    servers.set(port, spawn(programs.server, args, { stdio: 'ignore' }))
    await until(() => command(port, 'ping').startsWith('PONG'), `port ${port}`)
  }
  await Promise.all(ports.map(start))
  const addresses = ports.map((port) => `127.0.0.1:${publicPorts.get(port)}`)
  await joinServers(programs.cli, { ports, addresses, primaries, replicas, command })
  return {
    urls: addresses.map((address) => `redis://${address}`),
    ports,
    command,
    kill: (port, signal = 'SIGKILL') => void servers.get(port)?.kill(signal),
    freeze: (port) => void servers.get(port)?.kill('SIGSTOP'),
    thaw: (port) => void servers.get(port)?.kill('SIGCONT'),
    async revive(port) {
      const server = servers.get(port)
      if (server?.exitCode === null && server.signalCode === null) await once(server, 'exit')
      await start(port)
    },
    async stop() {
      await Promise.all(
        [...servers.values()].map(async (server) => {
          if (server.exitCode !== null || server.signalCode !== null) return
          server.kill('SIGKILL')
          await once(server, 'exit')
        }),
      )
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface Servers extends Pick<RedisCluster, 'ports' | 'command'> {
  readonly addresses: readonly string[]
  readonly primaries: number
  readonly replicas: number
}

/** Makes them one cluster. Its replicas have what their primaries have. */
async function joinServers(
  cli: string,
  { ports, addresses, primaries, replicas, command }: Servers,
): Promise<void> {
  if (primaries < 3) {
    // The tool insists on three; of one, the slots are given by hand.
    command(ports[0]!, 'cluster', 'addslotsrange', '0', '16383')
  } else {
    const made = spawnSync(
      cli,
      ['--cluster', 'create', ...addresses, '--cluster-replicas', String(replicas), '--cluster-yes'],
      { encoding: 'utf8' },
    )
    if (made.status !== 0) throw new Error(`the cluster could not be made: ${made.stdout}${made.stderr}`)
  }
  await until(
    () => ports.every((port) => command(port, 'cluster', 'info').includes('cluster_state:ok')),
    'the cluster',
  )
  // A replica without data does not become a primary.
  const isFollowing = (port: number) => {
    const state = command(port, 'info', 'replication')
    return !(state.includes('role:slave') && state.includes('master_link_status:down'))
  }
  await until(() => ports.every(isFollowing), 'the replicas')
}

function argumentsOf(port: number, publicPort: number, folder: string): string[] {
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: 'yes',
    'cluster-enabled': 'yes',
    'cluster-announce-ip': '127.0.0.1',
    'cluster-announce-port': publicPort,
    'cluster-node-timeout': 1000,
    'cluster-require-full-coverage': 'no',
    'repl-diskless-sync-delay': 0,
  }
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
}

async function until(check: () => boolean, what: string): Promise<void> {
  for (let tries = 0; !check(); tries++) {
    if (tries > 200) throw new Error(`${what} did not come up`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
