import { beforeEach, expect, it } from 'vitest'
import { createOpened, type Opened } from './opened.ts'
import { maxOpened } from './rules.ts'

let at: number
let scripts: string[]
let apply: (script: string) => Promise<void>
let opened: Opened
beforeEach(() => {
  at = 0
  scripts = []
  apply = async (script) => void scripts.push(script)
  opened = createOpened(
    (script) => apply(script),
    () => at,
  )
})
const minutes = (count: number) => count * 60_000
const one = { address: '1.1.1.1', port: 443 }
const two = { address: '1.0.0.1', port: 443 }

it('opens an address once, however often it is answered', async () => {
  await opened.open([one])
  await opened.open([one])
  await Promise.all([opened.open([one]), opened.open([one])])
  expect(scripts).toHaveLength(1)
  expect(scripts[0]).toContain('1.1.1.1 . 443 timeout 3600s')
})

it('opens it again when half of its time has passed', async () => {
  await opened.open([one])
  at = minutes(30) - 1
  await opened.open([one])
  expect(scripts).toHaveLength(1)
  at = minutes(30)
  await opened.open([one])
  expect(scripts).toHaveLength(2)
})

it('opens what is new alone, and answers asked at the same time do it once', async () => {
  await Promise.all([opened.open([one]), opened.open([one, two]), opened.open([two])])
  expect(scripts).toHaveLength(2)
  expect(scripts[1]).not.toContain('1.1.1.1')
})

it('rejects when the packet filter refuses, and tries again the next time', async () => {
  const working = apply
  apply = async () => {
    throw new Error('no room')
  }
  await expect(opened.open([one])).rejects.toThrow('no room')
  apply = working
  await opened.open([one])
  expect(scripts).toHaveLength(1)
})

it(`holds ${maxOpened} addresses, and has room again when their time has passed`, async () => {
  const many = Array.from({ length: maxOpened }, (_, port) => ({ address: '1.1.1.1', port: port + 1 }))
  await opened.open(many)
  await expect(opened.open([two])).rejects.toThrow(`${maxOpened} addresses are open already`)
  // Those that are open can be opened for longer.
  at = minutes(45)
  await opened.open(many.slice(0, 1))
  at = minutes(60)
  await opened.open([two])
})
