import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { beforeEach, expect, it } from 'vitest'
import { createNotices } from '../../device/node/notices.ts'
import type { Trouble } from './link-socket.ts'
import { createTroubles, type Troubles } from './troubles.ts'

let log: ReturnType<typeof createMemoryLog>
let notices: ReturnType<typeof createNotices>
let troubles: Troubles
beforeEach(() => {
  notices = createNotices(createFakeClock(), createMemoryLog())
  log = createMemoryLog()
  troubles = createTroubles(log, notices)
})
const fail = (network: string, failures: number) =>
  troubles.failed({ network, failures, cause: new Error('down') } as Trouble)
const raised = () => notices.list().map(({ reason }) => reason)

it('shows a network at its third failure in a row', () => {
  fail('left', 1)
  fail('left', 2)
  expect(raised()).toEqual([])
  fail('left', 3)
  expect(raised()).toEqual(['link_local_unavailable'])
})

it('shows a trouble until every network works again', () => {
  fail('left', 3)
  fail('right', 3)
  troubles.recovered('left')
  expect(raised()).toEqual(['link_local_unavailable'])
  troubles.recovered('right')
  expect(raised()).toEqual([])
})

it('shows no trouble of networks that are left', () => {
  fail('left', 3)
  troubles.clear()
  expect(raised()).toEqual([])
})

it('shows the networks of now after others were left', () => {
  troubles.clear()
  fail('left', 3)
  troubles.clear()
  fail('right', 3)
  expect(raised()).toEqual(['link_local_unavailable'])
  troubles.recovered('right')
  expect(raised()).toEqual([])
})

it('shows which network fails, and why', () => {
  fail('left', 3)
  expect(log.lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'debug', network: 'left', failures: 3, why: 'down' },
  ])
})
