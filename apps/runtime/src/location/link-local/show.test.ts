import { expect, it } from 'vitest'
import type { Heard } from './browser.ts'
import { linkOf } from './networks.ts'
import { showNodes, type Viewer } from './show.ts'

const parts = {
  nodeId: 'own',
  accountId: 'account',
  networks: [{ name: 'left', addresses: ['10.77.1.1'], links: [linkOf('10.77.1.1', '255.255.255.0')] }],
  now: 1_000_000,
}
const heard = (nodeId: string, from: string, hosts?: readonly string[], firstAt = 0): Heard => ({
  nodeId,
  from,
  network: 'left',
  firstAt,
  heardAt: performance.now(),
  statement: hosts && { nodeId, name: nodeId, services: [], hosts, at: 0, run: '', isLeaving: false },
})
const picture = (all: readonly Heard[], viewer: Viewer = 'account') =>
  showNodes(all, viewer, parts).map(
    ({ nodeId, state, addresses }) => `${nodeId} ${state} ${addresses.join(' ')}`,
  )

it('shows of a neighbour of the account the addresses that it sealed, on this network', () => {
  expect(picture([heard('bob', '10.77.1.2', ['10.77.1.2', '10.77.2.2', '10.77.1.3'])])).toEqual([
    'bob online 10.77.1.2 10.77.1.3',
  ])
})

it('adds nothing from a stranger to a neighbour of the account', () => {
  expect(picture([heard('bob', '10.77.1.66'), heard('bob', '10.77.1.2', ['10.77.1.2'])])).toEqual([
    'bob online 10.77.1.2',
  ])
})

it('shows neighbours of the account first, then strangers in the order of their arrival', () => {
  const strangers = [heard('000', '10.77.1.9', undefined, 2), heard('zoe', '10.77.1.8', undefined, 1)]
  expect(
    picture([...strangers, heard('own', '10.77.1.1'), heard('bob', '10.77.1.2', ['10.77.1.2'])]),
  ).toEqual(['bob online 10.77.1.2', 'zoe seen 10.77.1.8', '000 seen 10.77.1.9'])
})

it('lists every address that announced a stranger, up to a limit', () => {
  const many = Array.from({ length: 50 }, (_, at) => heard('guy', `10.77.1.${at}`))
  expect(showNodes(many, 'account', parts)[0]!.addresses).toHaveLength(16)
})

it('shows to anyone what is announced unsealed, and not which nodes are of the account', () => {
  const zoe = heard('zoe', '10.77.1.8', undefined, 1)
  const bob = heard('bob', '10.77.1.2', ['10.77.1.2', '10.77.1.3'], 2)
  expect(picture([bob, zoe], 'anyone')).toEqual(['zoe seen 10.77.1.8', 'bob seen 10.77.1.2'])
  const [, shown] = showNodes([bob, zoe], 'anyone', parts)
  expect(shown).toMatchObject({ name: null, accountId: null, services: [], distance: null, fix: null })
})

it('shows what a neighbour of the account sealed, and when it was last received', () => {
  const received = performance.now()
  const bob = { ...heard('bob', '10.77.1.2', ['10.77.1.2']), heardAt: received - 50_000 }
  const older = { ...bob, heardAt: received - 90_000 }
  const zoe = { ...heard('zoe', '10.77.1.8'), heardAt: received }
  const services = [{ name: 'cam' }]
  const sealed = [older, bob].map((each) => ({ ...each, statement: { ...each.statement!, services } }))
  const [first, second] = showNodes([zoe, ...sealed] as Heard[], 'account', parts)
  expect(first).toMatchObject({ nodeId: 'bob', name: 'bob', accountId: 'account', services })
  expect(second).toMatchObject({ nodeId: 'zoe', name: null, accountId: null, services: [] })
  // The time from `received` until now makes them older.
  const ageOf = (record = first!) => parts.now - Date.parse(record.heardAt!)
  expect(ageOf()).toBeGreaterThanOrEqual(50_000)
  expect(ageOf()).toBeLessThan(90_000)
  expect(ageOf(second)).toBeLessThan(50_000)
})

it('shows neighbours of the account in the order of their IDs', () => {
  const names = ['carl', 'ann', 'bob']
  const all = names.map((each) => heard(each, '10.77.1.2', ['10.77.1.2']))
  expect(showNodes(all, 'account', parts).map(({ nodeId }) => nodeId)).toEqual(['ann', 'bob', 'carl'])
})

it('shows the address of a sender on a network that the device has left', () => {
  const bob = { ...heard('bob', '10.9.1.2', ['10.77.1.2']), network: 'right' }
  expect(picture([bob])).toEqual(['bob online 10.9.1.2'])
})
