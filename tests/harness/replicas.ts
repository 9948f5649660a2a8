/** Two identity services on one PostgreSQL, behind a balancer that knows nothing of them. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { createRuntimeClient } from '@selvedge/client'
import { freePort, type PostgresServer, startPostgres } from '@selvedge/service-kit/testing'
import { type Program, startProgram, temporaryFolder } from './processes.ts'
import { randomOf } from './seed.ts'

const random = randomOf('replicas')

interface Replica extends Program {
  /** Folder of its operator's socket. */
  readonly state: string
}

export interface Replicas {
  /** URL of the balancer, which is the issuer. */
  readonly url: string
  readonly all: readonly [Replica, Replica]
  readonly database: string
  readonly keys: string
  /** Ends all connections to the database, as its restart does. */
  endConnections(): Promise<number>
  stop(): Promise<void>
}

/** Passes each connection to the next one that answers. */
async function startBalancer(targets: () => readonly number[]): Promise<{ url: string; stop(): void }> {
  let turn = 0
  const server = createServer((client) => {
    const ports = targets()
    const attempt = (left: number) => {
      const upstream = connect(ports[turn++ % ports.length]!, '127.0.0.1')
      upstream.once('connect', () => {
        client.pipe(upstream)
        upstream.pipe(client)
      })
      let isConnected = false
      upstream.once('connect', () => {
        isConnected = true
      })
      upstream.on('error', () => {
        if (isConnected || left === 0) client.destroy()
        else attempt(left - 1)
      })
      upstream.on('close', () => isConnected && client.destroy())
      client.on('error', () => upstream.destroy())
      client.on('close', () => upstream.destroy())
    }
    attempt(1)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => void server.close(),
  }
}

/**
 * @param args of both, or of one by its index
 * @param envOf more of the environment of one of them, or another way to the database
 */
export async function startReplicas(
  args: readonly string[] | ((index: number) => readonly string[]) = [],
  envOf: (index: number, database: string) => Promise<Record<string, string>> = async () => ({}),
): Promise<Replicas> {
  const postgres: PostgresServer = await startPostgres()
  const database = await postgres.createDatabase()
  const keys = random.bytes(32).toString('base64url')
  const ports: number[] = []
  const balancer = await startBalancer(() => ports)
  const folders: { remove(): Promise<void> }[] = []
  const start = async (index: number): Promise<Replica> => {
    const folder = await temporaryFolder()
    folders.push(folder)
    const env = {
      SELVEDGE_STATE: folder.path,
      SELVEDGE_IDENTITY_STORE: database,
      SELVEDGE_IDENTITY_KEYS: keys,
      ...(await envOf(index, database)),
    }
    const port = await freePort()
    const program = await startProgram('identity', { ...env, SELVEDGE_IDENTITY_PORT: String(port) }, [
      `--issuer=${balancer.url}`,
      ...(typeof args === 'function' ? args(index) : args),
    ])
    ports.push(port)
    return { ...program, url: `http://127.0.0.1:${port}`, state: folder.path }
  }
  // At the same time, as an orchestrator would.
  const all = (await Promise.all([start(0), start(1)])) as [Replica, Replica]
  return {
    url: balancer.url,
    all,
    database,
    keys,
    endConnections: () => postgres.endConnections(database),
    async stop() {
      for (const each of all) await each.stop()
      balancer.stop()
      await postgres.stop()
      for (const each of folders) await each.remove()
    },
  }
}

/** An edge ID token, of a runtime that got it through the balancer and then exited. */
export async function edgeTokenThrough({ url }: Replicas): Promise<string> {
  const folder = await temporaryFolder()
  const runtime = await startProgram('runtime', {
    SELVEDGE_STATE: folder.path,
    SELVEDGE_RUNTIME_PORT: '0',
    SELVEDGE_IDENTITY_URL: url,
  })
  try {
    return (await createRuntimeClient({ url: runtime.url }).getEdgeIdToken()).id_token
  } finally {
    await runtime.stop()
    await folder.remove()
  }
}
