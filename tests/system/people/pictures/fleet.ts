/** A fleet for the console: devices in the registry, and their places in the discovery service, as if they had reported. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { defaultSharing } from '@selvedge/protocol'
import { openSql } from '@selvedge/service-kit/sql'
import { createMemoryLog } from '@selvedge/service-kit/testing'
import { migrations } from '../../../../apps/discovery/src/schema.ts'
import { openEmbeddedStore } from '../../../../apps/discovery/src/stores/embedded/embedded-store.ts'
import { root } from '../../../harness/processes.ts'

type City = [name: string, longitude: number, latitude: number, thousands: number]
const cities = JSON.parse(
  readFileSync(join(root, 'apps/console/build/cities.json'), 'utf8'),
) as readonly City[]

/** As random as that of a device. */
export const nodeIdOf = (at: number): string => createHash('sha224').update(String(at)).digest('hex')

const day = 86_400_000
const services = (at: number) =>
  [
    ['telemetry', at % 37 === 5 ? 'failed' : 'running'],
    ['camera', at % 3 === 0 ? 'paused' : 'running'],
    ['gateway', at % 11 === 4 ? 'stopped' : 'running'],
  ]
    .slice(0, 1 + (at % 3))
    .map(([name, state]) => ({ id: `fleet-${name}`, name, image: `fleet/${name}:1.4.2`, state }))

/** One in seven devices is away, and one in forty blocked. */
const stateOf = (at: number) => (at % 40 === 11 ? 'blocked' : at % 7 === 3 ? 'away' : 'online')

/** Adds devices with these numbers to the registry of a running identity service. */
export function addToRegistry(state: string, accountId: string, from: number, until: number): void {
  const database = new DatabaseSync(join(state, 'identity', 'identity.db'), { timeout: 30_000 })
  const insert = database.prepare(
    `INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at,
      blocked_at, version, services) VALUES (?, ?, ?, '', '', '', ?, ?, ?, ?, ?)`,
  )
  const label = database.prepare('INSERT INTO device_labels VALUES (?, ?, ?, ?)')
  const need = database.prepare('INSERT INTO device_needs VALUES (?, ?, ?)')
  const now = Date.now()
  database.exec('BEGIN')
  for (let at = from; at < until; at++) {
    const [id, own, [city]] = [nodeIdOf(at), services(at), cities[at % cities.length]!]
    const state = stateOf(at)
    const seenAt = now - (state === 'online' ? (at % 500) * 1000 : day / 4 + at * 1000)
    insert.run(
      ...[id, `van-${String(at).padStart(5, '0')}`, accountId, now - 30 * day + at, seenAt],
      ...[state === 'blocked' ? now - day : null, at % 9 === 0 ? '0.9.4' : '0.10.0', JSON.stringify(own)],
    )
    if (at % 2 === 0) label.run(id, accountId, `${city} ${at}`, `["type:van","region:${at % 8}"]`)
    if (own.some((each) => each.state === 'failed')) need.run(accountId, 'failing', id)
    if (at % 211 === 20) need.run(accountId, 'disk', id)
  }
  database.exec('COMMIT')
  if (from === 0 && until > 0) describeFirst(database, accountId, now)
  database.close()
}

/** What the first device stated about itself, and what happened to it. */
function describeFirst(database: DatabaseSync, accountId: string, now: number): void {
  const id = nodeIdOf(0)
  const vitals = {
    ...{ system: 'Debian GNU/Linux 12 (bookworm)', arch: 'arm64', addresses: ['10.40.0.12'], cores: 4 },
    ...{ uptimeSeconds: 461_000, load: 0.42, clock: 'trusted', revocationsAgeSeconds: 12, notices: [] },
    memory: { usedBytes: 1.3e9, totalBytes: 4e9 },
    disk: { usedBytes: 21e9, totalBytes: 32e9 },
    engines: [{ kind: 'function', version: '2.9.5', isolation: ['permissions', 'control groups'] }],
    services: [{ id: 'fleet-telemetry', restarts: 2, lastEnd: 'exited' }],
  }
  database
    .prepare('INSERT INTO device_vitals VALUES (?, ?, ?, ?)')
    .run(id, accountId, JSON.stringify(vitals), now)
  const event = database.prepare('INSERT INTO device_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const events = [
    ['version', '', '0.9.4', '0.10.0', ''],
    ['service', 'telemetry', '', 'running', ''],
    ['restart', 'telemetry', '0', '2', 'exited'],
    ['returned', '', new Date(now - day).toISOString(), '', ''],
    ['started', '', '', '', ''],
  ]
  for (const [index, [kind, subject, before, after, reason]] of events.entries())
    event.run(
      ...[id, `e${index}`, accountId, now - day + index * 3_600_000],
      ...[kind!, subject!, before!, after!, reason!],
    )
}

/** Places of devices with these numbers, for a discovery service that does not run. */
export async function addToDiscovery(
  state: string,
  accountId: string,
  from: number,
  until: number,
): Promise<void> {
  const database = await openSql(`sqlite:${join(state, 'discovery', 'locations.db')}`, migrations)
  const store = await openEmbeddedStore(database, createMemoryLog())
  const now = Date.now()
  for (let at = from; at < until; at++) {
    const [, longitude, latitude] = cities[(at * 7) % cities.length]!
    const spread = Math.floor(at / cities.length) * 0.01
    await store.put([
      {
        ...{ nodeId: nodeIdOf(at), nodeName: '', accountId, sharing: defaultSharing, term: 0 },
        ...{ longitude: longitude + spread * Math.sin(at), latitude: latitude + spread * Math.cos(at) },
        ...{ speed: 12, bearing: 80, fixedAt: now - 60_000, receivedAt: now, heardAt: now, source: 'api' },
      },
    ])
  }
  await store.close()
  await database.close()
}
