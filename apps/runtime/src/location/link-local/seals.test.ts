/** What this node seals for the nodes of its account: with the key of the present account, and never with the one before. */
import { beforeEach, expect, it } from 'vitest'
import { readTxt, sealKeyOf } from './announcement.ts'
import { createSeals, type Seals } from './seals.ts'

const nodeId = 'ab'.repeat(28)
const [first, second] = ['a', 'b'].map((each) => Buffer.alloc(32, each).toString('base64url')) as [
  string,
  string,
]
const address = '10.77.1.2'
const now = Date.parse('2026-01-01T00:00:00Z')
let accountKey: string | undefined
let isTimeTrusted: boolean
let seals: Seals
let changes: number
beforeEach(() => {
  accountKey = first
  isTimeTrusted = true
  changes = 0
  seals = createSeals({
    nodeId,
    accountKey: () => accountKey,
    statement: () => ({ name: 'van', services: [] }),
    now: () => now,
    isTimeTrusted: () => isTimeTrusted,
  })
})

const txt = () => seals.txt({ addresses: [address] } as never)
const read = (key: string) => readTxt(txt(), { key: sealKeyOf(key), from: address, now })

it('an announcement is sealed with the key of the account, and states the addresses and the time', () => {
  expect(read(first)).toMatchObject({
    nodeId,
    statement: { name: 'van', hosts: [address], at: now, isLeaving: false },
  })
  expect(read(second)?.statement).toBeUndefined()
  isTimeTrusted = false
  expect([seals.now(), read(first)?.statement?.at]).toEqual([0, 0])
})

it('another account has another key, which is announced', () => {
  seals.onKeyChange(() => void changes++)
  expect(seals.key()).toEqual(sealKeyOf(first))
  expect(seals.key()).toBe(seals.key())
  expect(changes).toBe(1)
  accountKey = second
  expect(read(second)?.statement).toBeDefined()
  expect(changes).toBe(2)
  accountKey = undefined
  expect([seals.key(), read(second)?.statement]).toEqual([undefined, undefined])
  expect(changes).toBe(3)
})

it('a goodbye is of this run, and what follows is not one', () => {
  const runOf = () => read(first)?.statement?.run
  const run = runOf()
  expect(run).toMatch(/./)
  let goodbye: boolean | undefined
  seals.leaving(() => {
    goodbye = read(first)?.statement?.isLeaving
    expect(runOf()).toBe(run)
  })
  expect([goodbye, read(first)?.statement?.isLeaving]).toEqual([true, false])
})
