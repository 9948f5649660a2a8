/** Writing to the cluster: concurrent writes are sent together, one command for each key. */
import { hash } from 'node:crypto'
import { fastest, restless, snap } from '@selvedge/geo'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import { StoreError } from '@selvedge/service-kit/store'
import type { Cluster } from 'ioredis'
import type { Location, PutResult, ReportedLocation } from '../location-store.ts'
import {
  accountKey,
  bucketOf,
  cellKey,
  cellOf,
  everybody,
  leftKey,
  seenFrom,
  spaceOf,
  toField,
} from './keys.ts'
import { writeRecord } from './record.ts'

/**
 * Keeps the newer of two records, as one step: milliseconds after which a silent account is forgotten, then field, record and
 * term of each node in; the time of the fix that was known out, or `left` for one that left the account after that term. A fix
 * that the node can't have come to is marked; the rule is that of motion.ts of @selvedge/geo.
 */
const newest = script(`
local out = {}
local rad = math.pi / 180
for i = 2, #ARGV, 3 do
  local field, new, term = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  local left = tonumber(redis.call('HGET', KEYS[2], field) or -1)
  local old = left <= term and redis.call('HGET', KEYS[1], field)
  local known = -1
  if left > term then
    new, known = nil, 'left'
  elseif old then
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
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return out`)

/** Removes a node from an account, and remembers since when: field, term, and milliseconds for which that is stored. */
const leave = script(`
redis.call('HDEL', KEYS[1], ARGV[1])
if tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or -1) < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
end
return redis.call('PEXPIRE', KEYS[2], ARGV[3])`)

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
  readonly location: ReportedLocation
  readonly settle: (known: PutResult) => void
  readonly fail: (cause: Error) => void
}

/** Nodes of an account that are in the same hash. */
interface Bucket {
  readonly accountId: string
  readonly bucket: string
}

/** Maximum nodes of one command. */
const most = 500

/** Milliseconds for which the store knows that a node left: longer than any session lasts (`sessions.lifetime`). */
const rememberedMs = 2 * 3_600_000

export interface Writer {
  put(location: ReportedLocation): Promise<PutResult>
  leave(accountId: string, nodeId: string, term: number): Promise<void>
}

/** Milliseconds of a time slot, and without a report of any node after which an account is removed. */
interface WriterTimes {
  readonly slotLength: number
  readonly forgetAfter: number
}

export function createWriter(cluster: Cluster, { slotLength, forgetAfter }: WriterTimes): Writer {
  let waiting: Waiting[] = []

  async function run(
    { text, digest }: Script,
    keys: readonly string[],
    values: readonly (number | Buffer)[],
  ): Promise<unknown> {
    try {
      return await cluster.evalsha(digest, keys.length, ...keys, ...values)
    } catch (cause) {
      if (!(cause as Error).message.startsWith('NOSCRIPT')) throw cause
      return cluster.eval(text, keys.length, ...keys, ...values)
    }
  }

  async function keepNewest({ accountId, bucket }: Bucket, all: readonly Waiting[]): Promise<PutResult[]> {
    const keys = [accountKey(accountId, bucket), leftKey(accountId, bucket)]
    const values = all.flatMap(({ location }) => [
      toField(location.nodeId),
      writeRecord(location),
      location.term,
    ])
    const known = (await run(newest, keys, [forgetAfter, ...values])) as string[]
    return known.map((each) => (each === 'left' ? each : Number(each)))
  }

  async function writeBucket(bucket: Bucket, all: readonly Waiting[]): Promise<void> {
    try {
      const known = await keepNewest(bucket, all)
      const isNewest = (location: Location, before: PutResult) =>
        before !== 'left' && location.fixedAt >= before
      await placeAll(
        all.map(({ location }) => location).filter((location, index) => isNewest(location, known[index]!)),
      )
      for (const [index, { settle }] of all.entries()) settle(known[index]!)
    } catch (cause) {
      const error = new StoreError(`the cluster did not take a location: ${(cause as Error).message}`, {
        cause,
      })
      for (const { fail } of all) fail(error)
    }
  }

  /** Writes the cells in which nodes are found from now on. */
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
    await Promise.all([...members].map(([key, values]) => run(place, [key], [3 * slotLength, ...values])))
  }

  function flush(): void {
    const groups = new Map<string, Bucket & { readonly all: Waiting[] }>()
    for (const each of waiting) {
      const { accountId, nodeId } = each.location
      const bucket = bucketOf(nodeId)
      const key = accountKey(accountId, bucket)
      const group = groups.get(key)
      if (group) group.all.push(each)
      else groups.set(key, { accountId, bucket, all: [each] })
    }
    waiting = []
    for (const { all, ...bucket } of groups.values()) {
      for (let at = 0; at < all.length; at += most)
        inBackground('cluster.write', writeBucket(bucket, all.slice(at, at + most)))
    }
  }

  return {
    put: (location) =>
      new Promise((settle, fail) => {
        if (waiting.push({ location, settle, fail }) === 1) setImmediate(safely('cluster.flush', flush))
      }),
    async leave(accountId, nodeId, term) {
      const bucket = bucketOf(nodeId)
      const keys = [accountKey(accountId, bucket), leftKey(accountId, bucket)]
      await run(leave, keys, [toField(nodeId), term, rememberedMs])
    },
  }
}
