import { sealBytes } from '@selvedge/service-kit/tokens'
import { describe, expect, it } from 'vitest'
import { fc } from '../../../../../tests/harness/properties.ts'
import { randomOf } from '../../../../../tests/harness/seed.ts'
import { readTxt, sealKeyOf, writeTxt } from './announcement.ts'

const random = randomOf('announcement')

const nodeId = 'ab'.repeat(28)
const newKey = () => sealKeyOf(random.bytes(32).toString('base64url'))
const key = newKey()
const now = Date.UTC(2026, 0)
const statement = {
  nodeId,
  name: 'bob',
  services: [{ name: 's', path: '/c/s' }],
  hosts: ['10.77.1.2'],
  at: now,
  run: 'one',
  isLeaving: false,
}
const read = (txt: readonly string[], more: Partial<Parameters<typeof readTxt>[1]> = {}) =>
  readTxt(txt, { key, from: '10.77.1.2', now, ...more })
/** What a node of the account with bad intentions could seal. */
const sealedText = (plain: string) => [
  'v=1',
  `id=${nodeId}`,
  `s0=${sealBytes(key, Buffer.from(plain), nodeId).toString('base64url')}`,
]

describe('an announcement', () => {
  it('opens for nodes of the account; others read only the node ID', () => {
    const txt = writeTxt(statement, key)
    expect(read(txt)).toEqual({ nodeId, statement })
    const bytes = txt.map((each) => Buffer.from(each.replace(/^\w+=/, ''), 'base64url').toString('latin1'))
    expect([...txt, ...bytes].join()).not.toContain('10.77.1.2')
    for (const other of [undefined, newKey()])
      expect(read(txt, { key: other })).toEqual({ nodeId, statement: undefined })
    expect(writeTxt(statement, undefined)).toEqual(['v=1', `id=${nodeId}`])
  })

  it('states nothing if it was copied, changed or recorded long ago', () => {
    const txt = writeTxt(statement, key)
    const changed = (from: string, to: string) => txt.map((each) => (each.startsWith(from) ? to : each))
    expect(read(txt, { from: '10.77.1.4' })?.statement).toBeUndefined()
    expect(read(changed('id=', `id=${'cd'.repeat(28)}`))?.statement).toBeUndefined()
    const other = txt[2]![3] === 'A' ? 'B' : 'A'
    expect(read(changed('s0=', `s0=${other}${txt[2]!.slice(4)}`))?.statement).toBeUndefined()
    expect(read(txt, { now: now + 3_600_000 })?.statement).toBeUndefined()
    // Without two trusted clocks its age is unknown.
    expect(read(txt, { now: 0 })?.statement).toEqual(statement)
    for (const bad of [['v=2', `id=${nodeId}`], ['v=1', 'id=x'], []]) expect(read(bad)).toBeUndefined()
  })

  it('is one packet, however many services and addresses there are', () => {
    const services = Array.from({ length: 100 }, (_, index) => ({
      name: `service ${index}`,
      path: `/client/service-${index}`,
    }))
    const hosts = ['10.77.1.2', ...Array.from({ length: 100 }, (_, index) => `2001:db8::${index}`)]
    const txt = writeTxt({ ...statement, services, hosts }, key)
    expect(txt.reduce((sum, each) => sum + each.length + 1, 0)).toBeLessThan(1200)
    expect(txt.every((each) => each.length < 255)).toBe(true)
    expect(read(txt)?.statement?.services.length).toBeGreaterThan(5)
  })

  it('states nothing if a node of the account sealed anything else', () => {
    const { nodeId: _, ...rest } = statement
    expect(read(sealedText(JSON.stringify(rest)))?.statement).toEqual(statement)
    for (const plain of [
      '',
      'x',
      'null',
      '{"name":"bob"',
      '{}',
      '[]',
      '['.repeat(1000),
      JSON.stringify({ ...rest, hosts: [[]] }),
      JSON.stringify({ ...rest, services: Array(101).fill(rest.services[0]) }),
      `${JSON.stringify(rest).slice(0, -1)},"name":"twice"}`,
    ])
      expect(read(sealedText(plain))).toEqual({ nodeId, statement: undefined })
  })

  it('never throws, whatever the record holds', () => {
    const name = fc.constantFrom('v', 'id', 's0', 's1', '__proto__', '')
    const string = fc.oneof(
      fc.string(),
      fc.tuple(name, fc.string()).map(([left, right]) => `${left}=${right}`),
    )
    fc.assert(
      fc.property(fc.array(string), fc.string(), (strings, seal) => {
        read(strings)
        read(['v=1', `id=${nodeId}`, `s0=${seal}`, ...strings])
      }),
    )
  })
})
