import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'

/** A PostgreSQL server of a test: on the loopback interface, on a free port, in a temporary folder. */
export interface PostgresServer {
  /** Makes an empty database, or a copy of one that nothing is connected to. @returns its URL */
  createDatabase(template?: string): Promise<string>
  /** Ends all connections to a database, as a restart or a failover does (57P01). @returns how many */
  endConnections(url: string): Promise<number>
  /** Ends the server with all its processes, in order (SIGINT) or not (SIGKILL), and starts it again. */
  restart(signal: 'SIGINT' | 'SIGKILL'): Promise<void>
  /** Stops all its processes (SIGSTOP), and continues them. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

/**
 * Folder of the server's programs, or undefined if PostgreSQL is not installed. On Debian they are not in `PATH`, but a command that
 * finds them is, `pg_ctlcluster`.
 */
export function findPostgres(): string | undefined {
  const path = (process.env.PATH ?? '').split(':')
  const debian = '/usr/lib/postgresql'
  const isDebian = path.some((each) => existsSync(join(each, 'pg_ctlcluster'))) && existsSync(debian)
  const versions = isDebian ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [...versions.map((each) => join(debian, each, 'bin')), ...path]
  return folders.find((each) => existsSync(join(each, 'initdb')) && existsSync(join(each, 'postgres')))
}

/** @param settings of the server, such as `fsync=off` */
export async function startPostgres(settings: readonly string[] = ['fsync=off']): Promise<PostgresServer> {
  const programs = findPostgres()
  if (!programs) throw new Error('PostgreSQL is not installed')
  const cluster = initialize(programs)
  const port = await freePort()
  const launch = () =>
    new ServerProcess(programs, cluster, [
      ...settings,
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${cluster.folder}`,
      'max_connections=300',
    ])
  let server = launch()
  const urlOf = (database: string) => `postgres://selvedge@127.0.0.1:${port}/${database}`
  const admin = new pg.Pool({ connectionString: urlOf('postgres'), max: 1 })
  admin.on('error', () => undefined)
  const isAnswering = () =>
    admin.query('SELECT 1').then(
      () => true,
      () => false,
    )
  await server.untilReady(isAnswering)
  return {
    async createDatabase(template) {
      const name = `t${randomUUID().replaceAll('-', '')}`
      const origin = template === undefined ? '' : `TEMPLATE ${new URL(template).pathname.slice(1)}`
      await admin.query(`CREATE DATABASE ${name} ${origin}`)
      return urlOf(name)
    },
    async endConnections(url) {
      const { rows } = await admin.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
        [new URL(url).pathname.slice(1)],
      )
      return rows.length
    },
    async restart(signal) {
      const killed = signal === 'SIGKILL' ? server.signalAll(signal) : []
      await server.end(signal)
      // The memory that they share is in use until the last of them is gone, and the next server refuses to start.
      while (killed.some(isThere)) await new Promise((resolve) => setTimeout(resolve, 20))
      server = launch()
      await server.untilReady(isAnswering)
    },
    freeze: () => void server.signalAll('SIGSTOP'),
    thaw: () => void server.signalAll('SIGCONT'),
    async stop() {
      await admin.end()
      await server.end('SIGINT')
      rmSync(cluster.folder, { recursive: true, force: true })
    },
  }
}

/** The files of a server, and the user that owns them; undefined: the user of the test. */
interface DatabaseCluster {
  readonly folder: string
  readonly data: string
  readonly owner: { readonly uid: number; readonly gid: number } | undefined
}

/** Creates the files of a new server in a temporary folder: a copy of those of the first one of a run of the tests. */
function initialize(programs: string): DatabaseCluster {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  // The server refuses to run as root. Debian's package creates a user for it.
  const owner = process.getuid?.() === 0 ? userOf('postgres') : undefined
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const { SELVEDGE_TEST_PREPARED: prepared } = process.env
  const first = prepared && join(prepared, 'postgres')
  if (first && existsSync(first)) copy(first, data)
  else {
    makeData(programs, folder, data, owner)
    if (first) keepFor(first, data)
  }
  return { folder, data, owner }
}

function makeData(programs: string, folder: string, data: string, owner: DatabaseCluster['owner']): void {
  const { status, stderr } = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'selvedge', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    { ...owner, cwd: folder, encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`)
}

/** With owners and permissions. */
const copy = (from: string, to: string) => execFileSync('cp', ['--archive', from, to])

/** Of several that are made at the same time, the first one stays. */
function keepFor(first: string, data: string): void {
  const own = join(mkdtempSync(`${first}-`), 'data')
  copy(data, own)
  try {
    renameSync(own, first)
  } catch (cause) {
    if (!existsSync(first)) throw cause
  }
}

/** Whether a process has memory: one that exited may wait for its parent. */
function isThere(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** One run of the server, with the processes that it starts. */
class ServerProcess {
  readonly #process: ChildProcess
  #errors = ''

  constructor(programs: string, { folder, data, owner }: DatabaseCluster, settings: readonly string[]) {
    const args = ['-D', data, ...settings.flatMap((each) => ['-c', each])]
    this.#process = spawn(join(programs, 'postgres'), args, {
      ...owner,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#process.stderr?.on('data', (chunk) => {
      this.#errors += chunk
    })
  }

  /** @throws Error with the server's messages, if it exits or does not answer within ten seconds */
  async untilReady(isAnswering: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; !(await isAnswering()); tries++) {
      if (this.#process.exitCode !== null || tries > 200)
        throw new Error(`PostgreSQL did not start: ${this.#errors}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** Sends a signal to the server and all its processes. @returns their IDs */
  signalAll(signal: NodeJS.Signals): number[] {
    const pid = this.#process.pid!
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    const all = [pid, ...children.map(Number)]
    for (const each of all) {
      try {
        process.kill(each, signal)
      } catch {
        // It exited in the meantime.
      }
    }
    return all
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#process
    server.kill(signal)
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  }
}

function userOf(name: string): { uid: number; gid: number } {
  const number = (flag: string) => Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout)
  return { uid: number('-u'), gid: number('-g') }
}
