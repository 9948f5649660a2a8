import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '@selvedge/service-kit/log'
import { StoreError } from '@selvedge/service-kit/store'
import { beforeEach, expect, it } from 'vitest'
import { createNotices, type Notices } from '../node/notices.ts'
import { adoptMark } from './own-machine.ts'
import { showAside, wakeOnMachine } from './wake.ts'

const day = 86_400_000
let state: string
let folder: string
let lines: string[]
let notices: Notices
const log = createLog({ service: 'test', level: 'info', now: () => 0 }, (line) => lines.push(line))

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'selvedge-wake-'))
  folder = join(state, 'runtime')
  mkdirSync(folder)
  writeFileSync(join(folder, 'node-key.json'), 'the key of before')
  lines = []
  notices = createNotices({ now: Date.now }, log)
})

const tiePath = () => join(folder, 'machine.json')
/** The state as another machine leaves it. */
async function moveToOther(): Promise<void> {
  await wakeOnMachine(state, log)
  const { id } = JSON.parse(readFileSync(tiePath(), 'utf8'))
  writeFileSync(tiePath(), JSON.stringify({ id, hardware: 'another', system: 'another' }))
}
/** The folder that the only line of the log names. */
const asideOf = () => (JSON.parse(lines[0]!) as { folder: string }).folder

it('neither logs nor shows anything on the machine of the state', async () => {
  await wakeOnMachine(state, log)
  await wakeOnMachine(state, log)
  await showAside(state, notices, Date.now())
  expect(lines).toEqual([])
  expect(notices.list()).toEqual([])
})

it('names the folder of the state of another machine in the log, with what to do, and in a notice for a week', async () => {
  await moveToOther()
  await wakeOnMachine(state, log)
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 'warn',
    hint: expect.stringContaining('device adopt'),
  })
  expect(asideOf()).toMatch(join(state, 'set-aside'))
  writeFileSync(join(folder, 'node-key.json'), 'the new key')
  await showAside(state, notices, Date.now() + 7.1 * day)
  expect(notices.list()).toEqual([])
  await showAside(state, notices, Date.now() + 6.9 * day)
  expect(notices.list()).toMatchObject([{ reason: 'other_machine' }])
  expect(lines[1]).toContain(asideOf())
})

it('names the state that it adopts', async () => {
  await moveToOther()
  await wakeOnMachine(state, log)
  const aside = asideOf()
  writeFileSync(join(aside, adoptMark), '')
  await wakeOnMachine(state, log)
  expect(lines).toHaveLength(2)
  expect(JSON.parse(lines[1]!)).toMatchObject({ level: 'info', folder: aside })
})

it('reports a disk that fails as what it is', async () => {
  await moveToOther()
  // The place of the states that are set aside cannot be a folder.
  writeFileSync(join(state, 'set-aside'), '')
  const cause = await wakeOnMachine(state, log).catch((error: unknown) => error)
  expect(cause).toBeInstanceOf(StoreError)
  expect((cause as Error).message).toContain(`the state in ${folder} to this machine: `)
  expect((cause as Error).cause).toBeInstanceOf(Error)
})
