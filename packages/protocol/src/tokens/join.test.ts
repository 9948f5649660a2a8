import { describe, expect, it } from 'vitest'
import {
  fingerprintOf,
  joinKeyPattern,
  joinName,
  joinNamePattern,
  plainSerial,
  readJoinClaim,
} from './join.ts'

const key = `sj_${'aB3_-'.repeat(7).slice(0, 32)}`
const nodeId = '0123456789abcdef'.repeat(4).slice(0, 56)

describe('a claim to join', () => {
  it('has a key, and a serial number of at most 200 characters', () => {
    expect(readJoinClaim({ key })).toEqual({ key })
    const serial = 's'.repeat(200)
    expect(readJoinClaim({ key, serial, more: 1 })).toEqual({ key, serial })
  })

  it.each([
    undefined,
    null,
    [],
    key,
    {},
    { key: key.slice(1) },
    { key: `${key}x` },
    { key: ` ${key}` },
    { key, serial: 1 },
    { key, serial: 's'.repeat(201) },
  ])('is none as %j', (claim) => {
    expect(readJoinClaim(claim)).toBeUndefined()
  })

  it('is of one form', () => {
    expect(joinKeyPattern.test(key)).toBe(true)
    expect(joinKeyPattern.test(`x${key}`)).toBe(false)
  })
})

it.each([
  ['SN-1_a.b', 'SN-1_a.b'],
  ['s'.repeat(64), 's'.repeat(64)],
  ['s'.repeat(65), ''],
  ['a b', ''],
  ['a/b', ''],
  [' a', ''],
  ['', ''],
  [undefined, ''],
])('the serial number %j is shown as %j', (serial, shown) => {
  expect(plainSerial(serial)).toBe(shown)
})

it('a fingerprint is the first 64 bits of a node ID, in groups', () => {
  expect(fingerprintOf(nodeId)).toBe('0123-4567-89ab-cdef')
  expect(fingerprintOf('')).toBe('')
})

describe('the name of a device', () => {
  it.each([
    ['kiosk-{serial}', 'SN-1', 'kiosk-SN-1'],
    ['{serial} {serial} {nodeId}', 'SN', 'SN SN 01234567'],
    ['kiosk-{serial}', '{nodeId}', 'kiosk-01234567'],
    ['kiosk-{serial}', '', 'kiosk-01234567'],
    ['kiosk', 'SN', 'kiosk'],
    ['', 'SN', ''],
    ['  ', 'SN', ''],
    ['{serial}', 's'.repeat(64), 's'.repeat(60)],
    [`${'x'.repeat(59)}\u{1F600}`, '', `${'x'.repeat(59)}\uFFFD`],
  ])('by %j with the serial number %j is %j', (template, serial, name) => {
    expect(joinName(template, nodeId, serial)).toBe(name)
  })

  it.each(['', 'a', '{serial}', 'é {nodeId} x', 'x'.repeat(60)])('may be by the template %j', (template) => {
    expect(joinNamePattern.test(template)).toBe(true)
  })

  it.each(['{', '}', '{name}', '{serial', '{{serial}}', 'a\nb', '\u202E', '\u2028', 'x'.repeat(61)])(
    'is by no template %j',
    (template) => {
      expect(joinNamePattern.test(template)).toBe(false)
    },
  )
})
