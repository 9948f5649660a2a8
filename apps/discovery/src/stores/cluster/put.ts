/** Writing to the cluster: what comes in together goes out together, one command a key. */
import { hash } from 'node:crypto'
import { fastest, restless, snap } from '@selvedge/geo'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import { StoreError } from '@selvedge/service-kit/store'
import type { Cluster } from 'ioredis'
import type { Location } from '../location-store.ts'
import { accountKey, bucketOf, cellKey, cellOf, everybody, seenFrom, spaceOf, toField } from './keys.ts'
import { writeRecord } from './record.ts'

/**
 * Keeps the newer of two records, as one step: fields and records in, the time of the fix that was known out. A fix that the
 * node can't have come to is marked; see motion.ts of @selvedge/geo, whose rule this is.
 */
const newest = script(`
local out = {}
local rad = math.pi / 180
for i = 1, #ARGV, 2 do
  local field, new = ARGV[i], ARGV[i + 1]
  local old = redis.call('HGET', KEYS[1], field)
  local known = -1
  if old then
    local fixed, heard, lon, lat = struct.unpack('>ddi4i4', new)
    local oldFixed, oldHeard, oldLon, oldLat = struct.unpack('>ddi4i4', old)
    known = oldFixed
    if fixed < oldFixed or (fixed == oldFixed and heard <= oldHeard) then
      new = nil
    elseif fixed == oldFixed then
      new = string.sub(new, 1, 16) .. string.sub(old, 17, 43) .. string.sub(new, 44)
    else
      local a, b = oldLat * 1e-7 * rad, lat * 1e-7 * rad
      local s, t = math.sin((b - a) / 2), math.sin((lon - oldLon) * 1e-7 * rad / 2)
      local metres = 2 * 6371008.8 * math.asin(math.min(1, math.sqrt(s * s + math.cos(a) * math.cos(b) * t * t)))
      if metres > ${restless} + ${fastest} * (fixed - oldFixed) / 1000 then
        new = string.sub(new, 1, 42) .. string.char(string.byte(new, 43) + 128) .. string.sub(new, 44)
      end
    end
  end
  if new then redis.call('HSET', KEYS[1], field, new) end
  out[#out + 1] = tostring(known)
end
return out`)

/** Puts nodes into a cell that expires: milliseconds, then longitude, latitude and member of each. */
const place = script(`
redis.call('GEOADD', KEYS[1], unpack(ARGV, 2))
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`)

interface Script {
  readonly text: string
  /** What `EVALSHA` calls it. */
  readonly digest: string
}

function script(text: string): Script {
  return { text, digest: hash('sha1', text, 'hex') }
}

interface Waiting {
  readonly location: Location
  readonly settle: (known: number) => void
  readonly fail: (cause: Error) => void
}

/** Maximum nodes of one command. */
const most = 500

export interface Writer {
  put(location: Location): Promise<number>
}

/** @param slotLength milliseconds of a slot of time */
export function createWriter(cluster: Cluster, slotLength: number): Writer {
  let waiting: Waiting[] = []

  async function run(
    { text, digest }: Script,
    key: string,
    values: readonly (number | Buffer)[],
  ): Promise<unknown> {
    try {
      return await cluster.evalsha(digest, 1, key, ...values)
    } catch (cause) {
      if (!(cause as Error).message.startsWith('NOSCRIPT')) throw cause
      return cluster.eval(text, 1, key, ...values)
    }
  }

  async function keepNewest(key: string, all: readonly Waiting[]): Promise<number[]> {
    const values = all.flatMap(({ location }) => [toField(location.nodeId), writeRecord(location)])
    return ((await run(newest, key, values)) as string[]).map(Number)
  }

  async function writeBucket(key: string, all: readonly Waiting[]): Promise<void> {
    try {
      const known = await keepNewest(key, all)
      await placeAll(
        all
          .filter(({ location }, index) => location.fixedAt >= known[index]!)
          .map(({ location }) => location),
      )
      for (const [index, { settle }] of all.entries()) settle(known[index]!)
    } catch (cause) {
      const error = new StoreError(`the cluster did not take a location: ${(cause as Error).message}`, {
        cause,
      })
      for (const { fail } of all) fail(error)
    }
  }

  /** Says in which cells to find nodes from now on. */
  async function placeAll(locations: readonly Location[]): Promise<void> {
    const members = new Map<string, (number | Buffer)[]>()
    const add = (
      space: string,
      location: Location,
      precision: Location['sharing']['account'],
      member: Buffer,
    ) => {
      const told = snap(precision, location)
      if (!told) return
      const cell = cellOf(told)
      const slot = Math.floor(location.heardAt / slotLength)
      const key = cellKey(space, cell, slot)
      const seen = seenFrom(cell, told)
      let values = members.get(key)
      if (!values) members.set(key, (values = []))
      values.push(seen.longitude, seen.latitude, member)
    }
    for (const location of locations) {
      const field = toField(location.nodeId)
      const { account, others } = location.sharing
      add(spaceOf(location.accountId), location, account, field)
      if (others !== 'none')
        add(everybody, location, others, Buffer.concat([field, Buffer.from(location.accountId)]))
    }
    await Promise.all([...members].map(([key, values]) => run(place, key, [3 * slotLength, ...values])))
  }

  function flush(): void {
    const groups = new Map<string, Waiting[]>()
    for (const each of waiting) {
      const { accountId, nodeId } = each.location
      const key = accountKey(accountId, bucketOf(nodeId))
      const group = groups.get(key)
      if (group) group.push(each)
      else groups.set(key, [each])
    }
    waiting = []
    for (const [key, group] of groups) {
      for (let at = 0; at < group.length; at += most)
        inBackground('cluster.write', writeBucket(key, group.slice(at, at + most)))
    }
  }

  return {
    put: (location) =>
      new Promise((settle, fail) => {
        if (waiting.push({ location, settle, fail }) === 1) setImmediate(safely('cluster.flush', flush))
      }),
  }
}
