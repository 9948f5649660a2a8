/** A Podman of the tests' own: storage, networks and socket in a temporary folder. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { reserveNetworks } from './podman-networks.ts'

/** What a test needs that runs containers. */
export const podmanNeeds = ['podman', 'runc', 'root'] as const

export interface Podman {
  readonly socket: string
  /** Folder of its files; a test may put its own there. */
  readonly folder: string
  /** Environment in which other programs use the same storage: buildah, podman-compose. */
  readonly env: NodeJS.ProcessEnv
  /**
   * What its API answers to GET. Far cheaper than the command line, which starts a large program each time.
   *
   * @param path of the Docker Engine API, such as `/containers/json`; or of Podman's own one, such as `/libpod/networks/json`
   * @throws Error with the answer, if its status is not 200
   */
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it reads
  get(path: string): Promise<any>
  /** Names of its volumes. */
  volumes(): Promise<string[]>
  /** Names of its containers. @param all those that do not run, too */
  containers(all?: boolean): Promise<string[]>
  /** What `podman inspect` prints of one of its containers. */
  inspect<T>(container: string): Promise<T>
  /** Runs the command line on the same storage. */
  run(...args: readonly string[]): string
  /** What a container wrote on standard output and standard error. */
  logs(container: string): string
  stop(): Promise<void>
}

/** Settings that hold on machines with hybrid control groups and a low limit of open files, too. */
export const containersConf = `[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`

export async function startPodman(): Promise<Podman> {
  // Short: Podman's own sockets are in there, too.
  const folder = mkdtempSync(join(tmpdir(), 'pod-'))
  const socket = join(folder, 'podman.sock')
  const networks = await reserveNetworks(folder)
  shareNetworkMounts()
  writeFileSync(join(folder, 'containers.conf'), containersConf + networks.conf)
  writeFileSync(
    join(folder, 'storage.conf'),
    `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/graph"\nrunroot = "${folder}/run"\n`,
  )
  const env = {
    ...process.env,
    CONTAINERS_CONF: join(folder, 'containers.conf'),
    CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
    // Podman runs health checks by timers of systemd, which may be absent; tests run them.
    DISABLE_HC_SYSTEMD: 'true',
  }
  const service = spawn('podman', ['system', 'service', '--time', '0', `unix://${socket}`], {
    env,
    stdio: 'ignore',
  })
  const ended = new Promise((resolve) => service.once('exit', resolve))
  while (!existsSync(socket)) await sleep(20)
  const run = (...args: readonly string[]) =>
    execFileSync('podman', [...args], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const get = (path: string) => getJson(socket, path)
  return {
    socket,
    folder,
    env,
    get,
    async volumes() {
      const { Volumes } = (await get('/volumes')) as { Volumes: { Name: string }[] | null }
      return (Volumes ?? []).map(({ Name }) => Name)
    },
    async containers(all = false) {
      const found = (await get(`/containers/json?all=${all}`)) as { Names: string[] }[]
      return found.flatMap(({ Names }) => Names.map((each) => each.replace(/^\//, '')))
    },
    inspect: <T>(container: string) => get(`/libpod/containers/${container}/json`) as Promise<T>,
    run,
    logs(container) {
      const { stdout, stderr } = spawnSync('podman', ['logs', container], {
        env,
        encoding: 'utf8',
        maxBuffer: 1e8,
      })
      return stdout + stderr
    },
    async stop() {
      await removeContainers(run, '--all')
      run('volume', 'rm', '--all', '--force')
      service.kill()
      await ended
      for (const mount of mountsBelow(folder)) execFileSync('umount', ['--lazy', mount])
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
      networks.release()
    },
  }
}

function getJson(socketPath: string, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const version = path.startsWith('/libpod/') ? 'v4.0.0' : 'v1.41'
    const headers = { Host: 'localhost' }
    const asked = request(
      { socketPath, path: `/${version}${path}`, headers, agent: false },
      async (response) => {
        try {
          const text = Buffer.concat(await response.toArray()).toString()
          if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${text}`)
          resolve(JSON.parse(text))
        } catch (cause) {
          reject(cause)
        }
      },
    )
    asked.on('error', reject).end()
  })
}

/** Attempts to remove the containers: one that exited a moment ago may still have its mounts. */
const removals = 20

/** @param which names of containers, or `--all` */
export async function removeContainers(run: Podman['run'], ...which: readonly string[]): Promise<void> {
  for (let left = removals; left > 0; left--) {
    try {
      run('rm', '--force', '--time', '0', ...which)
      return
    } catch (cause) {
      if (left === 1 || !(cause as Error).message.includes('busy')) throw cause
      await sleep(250)
    }
  }
}

const networkMounts = '/run/netns'

/**
 * Podman removes the network of a container from another mount namespace, which sees it only if its mount is shared: systemd shares all mounts
 * of a device, other programs that start a machine may not.
 */
function shareNetworkMounts(): void {
  if (mountsBelow('/run').includes(networkMounts)) return
  mkdirSync(networkMounts, { recursive: true, mode: 0o711 })
  execFileSync('mount', ['--bind', networkMounts, networkMounts])
  execFileSync('mount', ['--make-shared', networkMounts])
}

/** Paths of the mounts below a folder, innermost first. */
export const mountsBelow = (folder: string): string[] =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`))
    .sort((one, two) => two.length - one.length)
