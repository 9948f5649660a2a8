/** Two discovery services on one PostgreSQL and one cluster of three primaries with a replica each, under load, while parts of it die. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createDiscoveryClient } from '@selvedge/client'
import type { FixInput, NodeRecord } from '@selvedge/protocol'
import {
  freePort,
  type PostgresServer,
  type RedisCluster,
  startPostgres,
  startRedisCluster,
} from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice, type Device } from '../../harness/device.ts'
import { createDeveloper } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'

/** Milliseconds between two reports of a device. */
const interval = 500
const size = 60

describe('a cluster', needs('redis-server', 'postgres'), () => {
  let postgres: PostgresServer
  let cluster: RedisCluster
  let identity: Program
  const replicas: Program[] = []
  const folders: { remove(): Promise<void> }[] = []
  const devices: Device[] = []
  /** Everything that each device ever said, by its time; and the last one that was acknowledged. */
  const said = new Map<string, Map<number, FixInput>>()
  const acknowledged = new Map<string, number>()
  let failures = 0
  let driving: Promise<void>
  const ending = new AbortController()
  /** Which replica devices talk to; changed when one is gone. */
  let urls: string[] = []

  beforeAll(async () => {
    postgres = await startPostgres()
    cluster = await startRedisCluster()
    const database = await postgres.createDatabase()
    const folder = await temporaryFolder()
    folders.push(folder)
    identity = await startProgram('identity', { SELVEDGE_STATE: folder.path, ...freePorts })
    // One name for both, as behind a balancer.
    const name = `http://127.0.0.1:${await freePort()}`
    for (let index = 0; index < 2; index++) {
      const own = await temporaryFolder()
      folders.push(own)
      const port = await freePort()
      const env = {
        SELVEDGE_STATE: own.path,
        SELVEDGE_DISCOVERY_PORT: String(port),
        SELVEDGE_IDENTITY_URL: identity.url,
        SELVEDGE_DISCOVERY_STORE: database,
      }
      const args = [`--url=${name}`, `--cluster=${cluster.urls.slice(0, 2).join(',')}`]
      replicas.push({ ...(await startProgram('discovery', env, args)), url: `http://127.0.0.1:${port}` })
    }
    urls = replicas.map((each) => each.url)
    const developer = await createDeveloper(folder.path)
    for (let index = 0; index < size; index++) {
      const at = { identityUrl: identity.url, discoveryUrl: replicas[index % 2]!.url, proofUrl: name }
      devices.push(await createDevice(at, developer, `device ${index}`))
      await devices[index]!.begin()
    }
    driving = Promise.all(devices.map(drive)).then(() => undefined)
  })
  afterAll(async () => {
    ending.abort()
    await driving
    for (const each of replicas) await each.stop()
    await identity?.stop()
    await cluster?.stop()
    await postgres?.stop()
    for (const each of folders) await each.remove()
  })

  /** Reports in its interval until the end; a place that says which report it is of. */
  async function drive(device: Device, index: number): Promise<void> {
    const own = new Map<number, FixInput>()
    said.set(device.nodeId, own)
    const authorize = await device.authorize()
    for (let count = 0; !ending.signal.aborted; count++) {
      const begunAt = Date.now()
      const fix = {
        longitude: 10 + index * 1e-3,
        latitude: 50 + count * 1e-6,
        speed: count,
        bearing: 0,
        fixedAt: begunAt,
      }
      own.set(fix.fixedAt, fix)
      const client = createDiscoveryClient({ url: urls[index % urls.length]!, timeoutMs: 4000 })
      await client.report([fix], authorize).then(
        () => acknowledged.set(device.nodeId, fix.fixedAt),
        () => failures++,
      )
      await sleep(Math.max(0, interval - (Date.now() - begunAt)))
    }
  }

  /** The fleet as a device sees it; every fix in it must be one that its node told, whole. */
  async function look(from: number): Promise<NodeRecord[]> {
    const client = createDiscoveryClient({ url: urls[from % urls.length]!, timeoutMs: 4000 })
    const authorize = await devices[from]!.authorize()
    const near = await client.nodes({ cluster: 'proximity', radius: 50_000, limit: 100 }, authorize)
    const account = await client.nodes({ cluster: 'account', limit: 500 }, authorize)
    for (const { nodeId, fix } of [...near.data, ...account.data]) {
      if (!fix) continue
      const told = said.get(nodeId)?.get(Date.parse(fix.fixedAt))
      expect(told, `a fix of ${nodeId} that it never told`).toBeDefined()
      expect([fix.longitude, fix.latitude, fix.speed]).toEqual([
        told!.longitude,
        expect.closeTo(told!.latitude, 7),
        told!.speed,
      ])
    }
    return account.data
  }

  /** Whether each node's fix is one that was reported within about the last interval. */
  async function isComplete(from: number): Promise<boolean> {
    const since = Date.now() - 2 * interval
    const all = await look(from)
    return all.length === size && all.every(({ fix }) => fix !== null && Date.parse(fix.fixedAt) >= since)
  }

  it('both replicas see the whole fleet', async () => {
    await expect.poll(() => isComplete(0)).toBe(true)
    await expect.poll(() => isComplete(1)).toBe(true)
    const near = await devices[0]!.near({ radius: 50_000, limit: 100 })
    expect(near).toHaveLength(size - 1)
  })

  it('a primary dies: questions are answered on, nothing wrong is, and the fleet is complete again', async () => {
    const roles = cluster.ports.map((port) => ({
      port,
      role: cluster.command(port, 'role').split('\n')[0]!.trim(),
    }))
    const primary = roles.find(({ role }) => role === 'master')!.port
    const before = failures
    cluster.kill(primary)
    const killedAt = Date.now()
    let answered = 0
    let unanswered = 0
    let completeAfter: number | undefined
    // A quick failover on a slow machine leaves time for few: some more are asked after it.
    while (Date.now() - killedAt < 20_000 && (completeAfter === undefined || answered <= 10)) {
      const asker = answered % size
      const complete = await isComplete(asker).then(
        (yes) => {
          answered++
          return yes
        },
        (cause: Error) => {
          // A wrong response is another failure than an unreachable service.
          if (cause.name === 'AssertionError') throw cause
          unanswered++
          return false
        },
      )
      // Not before the cluster itself has noticed.
      if (complete && Date.now() - killedAt > 1000 && failoverIsOver(primary))
        completeAfter ??= Date.now() - killedAt
      await sleep(50)
    }
    console.info(
      `a primary killed: ${answered} questions answered, ${unanswered} not; ${failures - before} reports to repeat; complete again after ${completeAfter} ms`,
    )
    expect(unanswered).toBe(0)
    expect(answered).toBeGreaterThan(10)
    expect(completeAfter).toBeDefined()
    await cluster.revive(primary)
  })

  /** Whether another server has taken the dead one's place. */
  function failoverIsOver(dead: number): boolean {
    const other = cluster.ports.find((port) => port !== dead)!
    return (
      cluster.command(other, 'cluster', 'info').includes('cluster_state:ok') &&
      cluster
        .command(other, 'cluster', 'nodes')
        .split('\n')
        .filter((line) => /master(?!,fail)/.test(line) && !line.includes('fail')).length === 3
    )
  }

  it('a discovery service dies: the other one takes its devices, sessions and all', async () => {
    await replicas[0]!.stop('SIGKILL')
    urls = [replicas[1]!.url]
    await sleep(2 * interval)
    await expect.poll(() => isComplete(0)).toBe(true)
    // What was acknowledged by the dead one is there, or something newer.
    const all = await look(1)
    for (const { nodeId, fix } of all)
      expect(Date.parse(fix!.fixedAt)).toBeGreaterThanOrEqual(acknowledged.get(nodeId)! - 4 * interval)
  })

  it('a database of several services without a cluster is refused at the start', async () => {
    const own = await temporaryFolder()
    folders.push(own)
    const env = {
      SELVEDGE_STATE: own.path,
      ...freePorts,
      SELVEDGE_DISCOVERY_STORE: await postgres.createDatabase(),
    }
    await expect(startProgram('discovery', env)).rejects.toThrow(
      /set "cluster" to the nodes of a Valkey or Redis cluster/,
    )
    const alone = { SELVEDGE_STATE: own.path, ...freePorts }
    await expect(startProgram('discovery', alone, ['--cluster=redis://127.0.0.1:1'])).rejects.toThrow(
      /can't reach the cluster at 127\.0\.0\.1:1/,
    )
  })
})
