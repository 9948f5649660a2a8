/** Seeded damage of a database file and of its log: refused, or nothing acknowledged is missing. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openDatabase } from './platform/open-database.ts'

const migrations = ['CREATE TABLE items (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID']
/** States of each test; SELVEDGE_BITFLIPS makes more of them. */
const states = Number(process.env.SELVEDGE_BITFLIPS ?? 200)
const commits = 40

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'damaged-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** The files of a database after a kill: most commits are in the log. */
function makeFiles(): void {
  const own = join(folder, 'own')
  mkdirSync(own)
  const database = openDatabase(join(own, 'db'), migrations)
  for (let number = 1; number <= commits; number++)
    database.prepare('INSERT INTO items VALUES (?, ?)').run(`item ${number}`, number)
  for (const name of ['db', 'db-wal', 'db-shm']) copyFileSync(join(own, name), join(folder, name))
  database.close()
}

/** What the items are when the damaged files are opened, as text and as the last one; undefined if they are refused. */
function openAll(
  db: Buffer,
  wal: Buffer | undefined,
  shm?: Buffer,
): { text: string; last: number } | undefined {
  const own = mkdtempSync(join(folder, 'try-'))
  writeFileSync(join(own, 'db'), db)
  if (wal) writeFileSync(join(own, 'db-wal'), wal)
  if (shm) writeFileSync(join(own, 'db-shm'), shm)
  try {
    const database = openDatabase(join(own, 'db'), migrations)
    try {
      const rows = database.prepare('SELECT name, number FROM items ORDER BY number').all()
      return { text: JSON.stringify(rows), last: Number(rows.at(-1)?.number) }
    } finally {
      database.close()
    }
  } catch {
    return undefined
  } finally {
    rmSync(own, { recursive: true })
  }
}

const open = (db: Buffer, wal: Buffer | undefined, shm?: Buffer) => openAll(db, wal, shm)?.last

function createRandom(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

it('a changed bit in the log loses no commit silently, except for the last one', () => {
  makeFiles()
  const [db, wal] = [readFileSync(join(folder, 'db')), readFileSync(join(folder, 'db-wal'))]
  expect(open(db, wal)).toBe(commits)
  const random = createRandom(7)
  const outcomes: Record<string, number> = {}
  for (let state = 0; state < states; state++) {
    // Half of them in the headers, which are a hundredth of the bytes.
    const frame = 32 + random(Math.floor((wal.length - 32) / 4120)) * 4120
    const at = state % 2 === 0 ? frame + random(24) : random(wal.length)
    const changed = Buffer.from(wal)
    changed[at]! ^= 1 << random(8)
    const found = open(db, changed)
    expect([undefined, commits - 1, commits], `bit of byte ${at}`).toContain(found)
    const outcome =
      found === undefined ? 'refused' : found === commits ? 'complete' : 'without the last commit'
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  }
  console.info(`${states} changed bits in the log:`, outcomes)
  expect(outcomes.refused).toBeGreaterThan(states / 2)
})

it('a log that is cut off, or damaged in its last commit, is refused after a kill, which leaves the index of the log', () => {
  makeFiles()
  const [db, wal, shm] = ['db', 'db-wal', 'db-shm'].map((name) => readFileSync(join(folder, name))) as [
    Buffer,
    Buffer,
    Buffer,
  ]
  expect(open(db, wal, shm)).toBe(commits)
  const frames = (wal.length - 32) / 4120
  for (let frame = 1; frame < frames; frame++) {
    expect(open(db, wal.subarray(0, 32 + frame * 4120), shm)).toBe(undefined)
    expect(open(db, wal.subarray(0, 32 + frame * 4120 + 2000), shm)).toBe(undefined)
  }
  const random = createRandom(8)
  for (let state = 0; state < states; state++) {
    const changed = Buffer.from(wal)
    changed[wal.length - 1 - random(4120)]! ^= 1 << random(8)
    expect(open(db, changed, shm)).toBe(undefined)
  }
})

it('an index that is damaged, or of an earlier use of the log, refuses nothing', () => {
  makeFiles()
  const [db, wal, shm] = ['db', 'db-wal', 'db-shm'].map((name) => readFileSync(join(folder, name))) as [
    Buffer,
    Buffer,
    Buffer,
  ]
  const random = createRandom(10)
  for (let state = 0; state < states; state++) {
    const changed = Buffer.from(shm)
    changed[random(96)]! ^= 1 << random(8)
    expect(open(db, wal, changed)).toBe(commits)
  }
  const own = join(folder, 'again')
  mkdirSync(own)
  const database = openDatabase(join(own, 'db'), migrations)
  database.prepare('INSERT INTO items VALUES (?, ?)').run('only', 1)
  // An older index counts frames of a log with other salts.
  expect(open(readFileSync(join(own, 'db')), readFileSync(join(own, 'db-wal')), shm)).toBe(1)
  database.close()
})

it('a log that a power cut left, or that holds frames of an earlier use, is no damage', () => {
  makeFiles()
  const [db, wal] = [readFileSync(join(folder, 'db')), readFileSync(join(folder, 'db-wal'))]
  const frames = (wal.length - 32) / 4120
  for (let frame = 0; frame <= frames; frame++)
    expect(open(db, wal.subarray(0, 32 + frame * 4120))).not.toBe(undefined)
  // The log is used again from its beginning, with new salts, after a checkpoint.
  const own = join(folder, 'again')
  mkdirSync(own)
  const database = openDatabase(join(own, 'db'), migrations)
  for (let number = 1; number <= commits; number++)
    database.prepare('INSERT INTO items VALUES (?, ?)').run(`item ${number}`, number)
  database.exec('PRAGMA wal_checkpoint(RESTART)')
  database.prepare('INSERT INTO items VALUES (?, ?)').run('last', 100)
  expect(open(readFileSync(join(own, 'db')), readFileSync(join(own, 'db-wal')))).toBe(100)
  database.close()
})

it('a truncated database file, or one with a damaged structure, is refused', () => {
  makeFiles()
  const database = openDatabase(join(folder, 'db'), migrations)
  database.close()
  const db = readFileSync(join(folder, 'db'))
  for (let length = 512; length < db.length; length += 512)
    expect(open(db.subarray(0, length), undefined)).toBe(undefined)
  const random = createRandom(9)
  const { text } = openAll(db, undefined)!
  const outcomes = { refused: 0, same: 0, 'another value': 0 }
  for (let state = 0; state < states; state++) {
    const changed = Buffer.from(db)
    changed[random(db.length)]! ^= 1 << random(8)
    const found = openAll(changed, undefined)
    // Values have no checksum: secrets are encrypted with one.
    outcomes[found ? (found.text === text ? 'same' : 'another value') : 'refused']++
  }
  console.info(`${states} changed bits in the database:`, outcomes)
  expect(outcomes.refused).toBeGreaterThan(0)
})
