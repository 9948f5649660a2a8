import { describe, expect, it } from 'vitest'
import { type DeviceVitals, maxVitalsCharacters, readVitals } from './vitals.ts'

const vitals: DeviceVitals = {
  system: 'Debian GNU/Linux 12 (bookworm)',
  arch: 'arm64',
  addresses: ['192.0.2.7'],
  uptimeSeconds: 86_400,
  cores: 4,
  load: 0.25,
  memory: { usedBytes: 1, totalBytes: 2 },
  disk: null,
  clock: 'trusted',
  revocationsAgeSeconds: 12,
  engines: [{ kind: 'oci', version: 'Podman 4.3.1', isolation: ['namespaces'] }],
  notices: [{ reason: 'container_failed', errorId: 'e1', time: '2026-11-01T00:00:00Z' }],
  services: [{ id: 'client-pump', restarts: 3, lastEnd: 'out_of_memory' }],
}

it('are read as they are', () => {
  expect(readVitals(vitals)).toEqual(vitals)
})

it('may be withdrawn, or not stated', () => {
  expect([readVitals(null), readVitals(undefined)]).toEqual([null, undefined])
})

it('of a newer runtime are read without what this version does not know', () => {
  expect(readVitals({ ...vitals, gpu: 'x' })).toEqual(vitals)
  expect(readVitals({ ...vitals, services: [{ ...vitals.services[0], cpu: 1 }] })).toEqual(vitals)
})

it.each(['trusted', 'held', 'unknown'] as const)('have a clock that is %s', (clock) => {
  expect(readVitals({ ...vitals, clock })).toEqual({ ...vitals, clock })
})

it('may be as long as the limit', () => {
  const roomCharacters = maxVitalsCharacters - JSON.stringify({ ...vitals, padding: '' }).length
  expect(readVitals({ ...vitals, padding: 'a'.repeat(roomCharacters) })).toEqual(vitals)
  expect(readVitals({ ...vitals, padding: 'a'.repeat(roomCharacters + 1) })).toBeUndefined()
})

it('may have as many items and as long texts as the limits', () => {
  const most = {
    ...vitals,
    system: 's'.repeat(80),
    arch: 'a'.repeat(16),
    addresses: Array(8).fill('a'.repeat(80)),
    engines: Array(4).fill({ kind: 'k'.repeat(16), version: 'v'.repeat(32), isolation: ['i'.repeat(32)] }),
    notices: Array(8).fill(vitals.notices[0]),
    services: Array(20).fill({ id: 'i', restarts: 1 }),
  }
  expect(readVitals(most)).toEqual(most)
  for (const list of ['addresses', 'engines', 'notices', 'services'] as const)
    expect(readVitals({ ...most, [list]: [...most[list], most[list][0]] }), list).toBeUndefined()
  expect(readVitals({ ...most, services: [{ id: 'i'.repeat(128), restarts: 0 }] })).toBeDefined()
  expect(readVitals({ ...most, services: [{ id: 'i'.repeat(129), restarts: 0 }] })).toBeUndefined()
})

describe('of a hostile device count as not stated:', () => {
  const memory = { usedBytes: 1, totalBytes: 1 }
  it.each<[string, unknown]>([
    ['another type', 'vitals'],
    ['a list', [vitals]],
    ['a member of Object', JSON.parse('{"__proto__":{"arch":"arm64"}}')],
    ['a missing member', { ...vitals, arch: undefined }],
    ['a negative number', { ...vitals, uptimeSeconds: -1 }],
    ['not a number', { ...vitals, load: Number.NaN }],
    ['an endless number', { ...vitals, load: Number.POSITIVE_INFINITY }],
    ['a number beyond what a number holds', { ...vitals, memory: { ...memory, totalBytes: 2 ** 60 } }],
    ['a long text', { ...vitals, arch: 'a'.repeat(17) }],
    ['a control character', { ...vitals, system: 'a\u001b[2J' }],
    ['a line break', { ...vitals, system: 'a\nb' }],
    ['a change of the direction of writing', { ...vitals, system: 'a\u202egnp.exe' }],
    ['a character of no width', { ...vitals, system: 'a\u200bb' }],
    ['half a character', { ...vitals, system: 'a\ud800' }],
    ['too many addresses', { ...vitals, addresses: Array(9).fill('192.0.2.7') }],
    ['no time', { ...vitals, notices: [{ reason: 'x', errorId: 'y', time: 'yesterday' }] }],
    ['more than fits', { ...vitals, padding: 'a'.repeat(maxVitalsCharacters) }],
  ])('%s', (_, claim) => {
    expect(readVitals(claim)).toBeUndefined()
  })
})
