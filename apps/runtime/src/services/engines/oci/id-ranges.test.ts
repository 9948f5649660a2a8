import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  chooseRange,
  type IdRange,
  parseRange,
  rangeLabel,
  rangeSize,
  rangesOverlap,
  readRanges,
  usernsMode,
} from './id-ranges.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ids-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const read = (uids: string, gids = uids) => {
  const files = { uid: join(folder, 'subuid'), gid: join(folder, 'subgid') }
  writeFileSync(files.uid, uids)
  writeFileSync(files.gid, gids)
  return readRanges(files)
}

describe('the ranges of a device', () => {
  it('are those of the user "containers", each of 65,536 IDs', () =>
    expect(read('ann:100000:65536\ncontainers:200000:150000\nbob:900000:65536\n')).toEqual([
      { uid: 200_000, gid: 200_000 },
      { uid: 265_536, gid: 265_536 },
    ]))
  it('are of several lines', () =>
    expect(read('containers:200000:65536\ncontainers:900000:65536').map(({ uid }) => uid)).toEqual([
      200_000, 900_000,
    ]))
  it('are as many as both files have', () =>
    expect(read('containers:200000:655360', 'containers:500000:65536')).toEqual([
      { uid: 200_000, gid: 500_000 },
    ]))
  it('are those that Podman documents', () => {
    const all = read('containers:2147483647:2147483648')
    expect(all).toHaveLength(32_768)
    expect(all.at(-1)!.uid + rangeSize).toBe(2 ** 32 - 1)
  })
  it.each([
    ['no line', ''],
    ['only other users', 'ann:100000:65536'],
    ['fewer than 65,536 IDs', 'containers:100000:65535'],
    ['the IDs of users of the device', 'containers:0:4294967295'],
    ['the IDs of users of the device', 'containers:1000:65536'],
    ['IDs that the kernel does not have', 'containers:4294967294:65536'],
    ['text in place of numbers', 'containers:a:b'],
    ['negative numbers', 'containers:-1:65536'],
    ['more members', 'containers:100000:65536:1'],
    ['another name that begins alike', 'containers2:100000:65536'],
  ])('are missing with %s', (_, text) => expect(read(text)).toEqual([]))
  it('are missing without the files', () =>
    expect(readRanges({ uid: join(folder, 'no'), gid: join(folder, 'no') })).toEqual([]))
})

describe('a range', () => {
  const all = [0, 1, 2, 3, 4, 5, 6, 7].map((at) => ({
    uid: 1_000_000 + at * rangeSize,
    gid: 2_000_000 + at * rangeSize,
  }))

  it('is of the upper half, free, and the same for the same container', () => {
    const chosen: IdRange[] = []
    for (let at = 0; at < 4; at++) chosen.push(chooseRange(all, chosen, 'one'))
    expect(new Set(chosen)).toEqual(new Set(all.slice(4)))
    expect(chooseRange(all, [], 'one')).toBe(chosen[0])
    expect(() => chooseRange(all, chosen, 'one')).toThrow('user IDs for 4 containers')
  })
  it('shares no ID with one that is in use, wherever that begins', () => {
    for (const used of [
      { uid: all[6]!.uid - 1, gid: 5_000_000 },
      { uid: 5_000_000, gid: all[6]!.gid + 1 },
    ]) {
      const chosen: IdRange[] = [used]
      for (let at = 0; at < 2; at++) chosen.push(chooseRange(all, chosen, String(at)))
      for (const one of chosen)
        for (const other of chosen) if (one !== other) expect(rangesOverlap(one, other)).toBe(false)
    }
  })
  it('is used from a device that has one', () => expect(chooseRange(all.slice(0, 1), [], 'one')).toBe(all[0]))

  it('is read from its label', () => {
    expect(parseRange(rangeLabel(all[3]!))).toEqual(all[3])
    expect(usernsMode(all[0]!)).toBe('auto:size=65536,uidmapping=0:1000000:65536,gidmapping=0:2000000:65536')
  })
  it.each([
    undefined,
    '',
    '1:2:3',
    '0:0',
    '1000000:0',
    '0:1000000',
    '65535:65536',
    '4294967295:1000000',
    '1000000:4294901760',
    '1000000:1000000,host',
    '1000000:1000000\n',
    ' 1000000:1000000',
    '-1000000:1000000',
  ])('is not read from the label %j', (label) => expect(parseRange(label)).toBeUndefined())
})
