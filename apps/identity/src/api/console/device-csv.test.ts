import type { Device } from '@selvedge/protocol/console'
import { expect, it } from 'vitest'
import { csvHead, toCell, toCsv } from './device-csv.ts'

it.each([
  ['=1', '"\'=1"'],
  ['+1', '"\'+1"'],
  ['-1', '"\'-1"'],
  ['@x', '"\'@x"'],
  ['\t=1', '"\' =1"'],
  ['\r=1', '"\' =1"'],
  ['\n@x', '"\' @x"'],
  [' =1', '"\' =1"'],
  ['\u00a0=1', '"\'\u00a0=1"'],
  ['\u202e=1', '"\'=1"'],
  ['\u0000=1', '"\'=1"'],
  ['\uff1d1', '"\'\uff1d1"'],
  ['a"b', '"a""b"'],
  ['a=1', '"a=1"'],
  ['', '""'],
])('writes the text %j as %s', (text, cell) => {
  expect(toCell(text)).toBe(cell)
})

it('writes numbers as numbers, also negative ones, and nothing for nothing', () => {
  expect([-12.5, 0, null].map(toCell)).toEqual(['-12.5', '0', ''])
})

it('has a head without text of others', () => {
  expect(csvHead).toMatch(/^"Node ID",.*"\r\n$/)
})

const device: Device = {
  nodeId: 'a1',
  label: '=cmd()',
  name: '-own',
  tags: ['@x', 'key:value'],
  state: 'blocked',
  version: '+1',
  services: [
    { id: '1', name: '=s', image: 'i', state: 'running' },
    { id: '2', name: 't', image: 'i', state: 'failed' },
  ],
  enrolledAt: '2026-01-01T00:00:00Z',
  lastSeenAt: '2026-01-02T00:00:00Z',
  blockedAt: '2026-01-03T00:00:00Z',
  fix: { longitude: -9.5, latitude: 38.25, fixedAt: '2026-01-04T00:00:00Z' },
} as Device

it('writes a line for each device, in the order of the head, and each text as a text', () => {
  const without = { ...device, label: '', tags: [], services: [], blockedAt: null, fix: null }
  expect(`${csvHead}${toCsv([device, without as Device])}`.split('\r\n')).toEqual([
    '"Node ID","Name","Calls itself","Status","Tags","Version","Services","Added","Last seen","Blocked","Latitude","Longitude","Location of"',
    `"a1","'=cmd()","'-own","blocked","'@x key:value","'+1","'=s (running); t (failed)","2026-01-01T00:00:00Z","2026-01-02T00:00:00Z","2026-01-03T00:00:00Z",38.25,-9.5,"2026-01-04T00:00:00Z"`,
    `"a1","'-own","'-own","blocked","","'+1","","2026-01-01T00:00:00Z","2026-01-02T00:00:00Z",,,,`,
    '',
  ])
})
