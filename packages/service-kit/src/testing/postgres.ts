import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'

/** A PostgreSQL server of a test: on the loopback, on a free port, in a folder that goes with it. */
export interface PostgresServer {
  /** Makes an empty database. @returns its URL */
  createDatabase(): Promise<string>
  /** Ends all connections to a database, as a restart or a failover does (57P01). @returns how many */
  endConnections(url: string): Promise<number>
  /** Ends it and all its processes, in order (SIGINT) or not (SIGKILL), and starts it again. */
  restart(signal: 'SIGINT' | 'SIGKILL'): Promise<void>
  /** Stops all its processes where they are, and lets them go on. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

/**
 * Folder of the server's programs, or undefined where PostgreSQL is not installed. Debian keeps them off `PATH` and puts a command
 * there that finds them, `pg_ctlcluster`.
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
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  // The server refuses to run as root; the user that Debian's package made for it will do.
  const owner = process.getuid?.() === 0 ? userOf('postgres') : undefined
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'selvedge', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    {
      ...owner,
      cwd: folder,
      encoding: 'utf8',
    },
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  const port = await freePort()
  const options = [
    ...settings,
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'max_connections=300',
  ]
  let errors = ''
  const launch = () => {
    const started = spawn(
      join(programs, 'postgres'),
      ['-D', data, ...options.flatMap((each) => ['-c', each])],
      {
        ...owner,
        cwd: folder,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    started.stderr.on('data', (chunk) => {
      errors += chunk
    })
    return started
  }
  let server = launch()
  const urlOf = (database: string) => `postgres://selvedge@127.0.0.1:${port}/${database}`
  const admin = new pg.Pool({ connectionString: urlOf('postgres'), max: 1 })
  admin.on('error', () => undefined)
  const untilReady = async () => {
    for (let tries = 0; ; tries++) {
      try {
        await admin.query('SELECT 1')
        return
      } catch (cause) {
        if (server.exitCode !== null || tries > 200)
          throw new Error(`PostgreSQL did not start: ${errors}`, { cause })
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }
  const signalAll = (signal: NodeJS.Signals) => {
    const { pid } = server
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean)
    for (const each of [pid!, ...children.map(Number)]) {
      try {
        process.kill(each, signal)
      } catch {
        // It has ended meanwhile.
      }
    }
  }
  await untilReady()
  return {
    async createDatabase() {
      const name = `t${randomUUID().replaceAll('-', '')}`
      await admin.query(`CREATE DATABASE ${name}`)
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
      if (signal === 'SIGKILL') signalAll(signal)
      else server.kill(signal)
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
      server = launch()
      await untilReady()
    },
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    async stop() {
      await admin.end()
      server.kill('SIGINT')
      if (server.exitCode === null) await once(server, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function userOf(name: string): { uid: number; gid: number } {
  const number = (flag: string) => Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout)
  return { uid: number('-u'), gid: number('-g') }
}
