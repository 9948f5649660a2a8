import { tmpdir } from 'node:os'
import { maxVitalsCharacters, readVitals } from '@selvedge/protocol/tokens'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fitVitals } from './fit.ts'
import { createVitals, type VitalsParts } from './vitals.ts'

const clock = { ...createFakeClock(Date.parse('2026-11-01T00:00:00Z')), state: () => 'held' as const }
const room = 3000
const notice = { reason: 'container_failed', errorId: 'e1', time: '2026-11-01T00:00:00Z' } as const

function create(
  parts: Partial<Omit<VitalsParts, 'presence'>> & { presence?: Partial<VitalsParts['presence']> } = {},
) {
  const vitals = createVitals({
    folder: tmpdir(),
    isEnabled: true,
    clock,
    notices: { list: () => [notice] },
    ...parts,
    presence: {
      addresses: () => ['192.0.2.7'],
      unsteady: () => [],
      engines: async () => [],
      ...parts.presence,
    },
  })
  onTestFinished(vitals.close)
  return vitals
}

it('are what the identity service reads', async () => {
  const vitals = create({
    presence: { unsteady: () => [{ id: 'client-pump', restarts: 2, lastEnd: 'out_of_memory' }] },
  })
  vitals.followRevocations(() => ({ checkedAt: '2026-10-31T23:59:18Z' }))
  const stated = await vitals.state(room)
  expect(readVitals(JSON.parse(JSON.stringify(stated)))).toEqual(stated)
  expect(stated).toMatchObject({
    addresses: ['192.0.2.7'],
    clock: 'held',
    revocationsAgeSeconds: 42,
    notices: [notice],
    services: [{ id: 'client-pump', restarts: 2, lastEnd: 'out_of_memory' }],
  })
  expect(stated!.memory.usedBytes).toBeLessThan(stated!.memory.totalBytes)
  expect(stated!.disk!.usedBytes).toBeLessThanOrEqual(stated!.disk!.totalBytes)
})

it('are not stated, and no engine is queried, where telemetry is turned off', async () => {
  const engines = vi.fn(async () => [])
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  expect(await create({ isEnabled: false, presence: { engines } }).state(room)).toBeNull()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(engines).not.toHaveBeenCalled()
})

it('contain the engines from the second statement on', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const found = { kind: 'oci', version: 'Podman\u0007 4.3.1', isolation: ['namespaces'] } as const
  const other = { kind: 'function', isolation: Array(9).fill('sandbox') } as const
  const vitals = create({ presence: { engines: async () => [found, other] } })
  expect(await vitals.state(room)).not.toHaveProperty('engines')
  await vi.advanceTimersByTimeAsync(10_000)
  expect((await vitals.state(room))!.engines).toEqual([
    { ...found, version: 'Podman 4.3.1' },
    { kind: 'function', isolation: Array(8).fill('sandbox') },
  ])
})

it('query no engine after the end', async () => {
  const engines = vi.fn(async () => [])
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const vitals = create({ presence: { engines } })
  await vitals.state(room)
  vitals.close()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(engines).not.toHaveBeenCalled()
})

it('have as many services as the identity service reads', async () => {
  const service = { id: 'c', restarts: 1 }
  const stated = await create({ presence: { unsteady: () => Array(30).fill(service) } }).state(room)
  expect(stated!.services).toHaveLength(20)
  expect(readVitals(stated)).toEqual(stated)
})

it('use all the room that there is', async () => {
  const parts = { ...(await create().state(room))!, services: [{ id: 'c', restarts: 1 }] }
  const bytes = Buffer.byteLength(JSON.stringify(parts))
  expect(fitVitals(parts, bytes)).toEqual(parts)
  expect(fitVitals(parts, bytes - 1)).toEqual({ ...parts, services: [] })
})

it('fit, whatever the device has', async () => {
  const vitals = create({
    notices: { list: () => Array(50).fill(notice) },
    presence: {
      addresses: () => Array(100).fill(`https://[${'2001:db8::1'}]:8083`),
      unsteady: () => Array(500).fill({ id: 'c'.repeat(128), restarts: 1, lastEnd: 'exited' }),
    },
  })
  const stated = await vitals.state(room)
  expect(JSON.stringify(stated).length).toBeLessThanOrEqual(maxVitalsCharacters)
  expect(readVitals(stated)).toEqual(stated)
  expect(stated!.notices).toHaveLength(8)
  const little = await vitals.state(700)
  expect([JSON.stringify(little).length <= 700, little!.services]).toEqual([true, []])
  expect(await vitals.state(100)).toBeUndefined()
})

it('are not stated, and hold up nothing, if they cannot be read', async () => {
  const vitals = create({
    presence: {
      unsteady: () => {
        throw new Error('the document is closed')
      },
    },
  })
  expect(await vitals.state(room)).toBeUndefined()
  const other = create({ folder: '/nowhere/at/all' })
  expect((await other.state(room))!.disk).toBeNull()
})
