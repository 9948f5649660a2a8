import { describe, expect, it } from 'vitest'
import { defaultInterfaceIn, type LinkProbes, readLinkState, readMetered } from './metered-link.ts'

const probes = (more: Partial<LinkProbes> = {}): LinkProbes => ({
  networkManager: async () => undefined,
  defaultInterface: () => 'wwan0',
  kindOf: () => 'wwan',
  ...more,
})

describe('the link', () => {
  it('is what the setting states, and nothing is asked', async () => {
    const silent = probes({ networkManager: () => expect.unreachable() })
    expect(await readLinkState('yes', silent)).toEqual({
      isMetered: true,
      reason: 'network.metered is "yes"',
    })
    expect(await readLinkState('no', silent)).toEqual({ isMetered: false, reason: 'network.metered is "no"' })
  })

  it.each([
    [1, true, 'is metered'],
    [2, false, 'is not metered'],
    [3, true, 'is probably metered'],
    [4, false, 'is probably not metered'],
  ])('is what NetworkManager knows: %i', async (state, isMetered, reason) => {
    expect(await readLinkState('auto', probes({ networkManager: async () => state }))).toEqual({
      isMetered,
      reason: `NetworkManager: the connection ${reason}`,
    })
  })

  it.each([undefined, 0, 9])('is that of its interface if NetworkManager has %s', async (state) => {
    const own = { networkManager: async () => state }
    expect(await readLinkState('auto', probes(own))).toEqual({
      isMetered: true,
      reason: 'wwan0 is a modem or a phone',
    })
    expect((await readLinkState('auto', probes({ ...own, kindOf: () => 'bluetooth' }))).isMetered).toBe(true)
    for (const kind of ['wlan', undefined]) {
      const state = await readLinkState('auto', probes({ ...own, kindOf: () => kind }))
      expect(state).toEqual({ isMetered: false, reason: 'wwan0 is no modem' })
    }
    expect(await readLinkState('auto', probes({ ...own, defaultInterface: () => undefined }))).toEqual({
      isMetered: false,
      reason: 'there is no default route',
    })
  })
})

it.each([
  ['u 4\n', 4],
  ['u 0', 0],
  ['u 44', undefined],
  ['s "4"', undefined],
  ['x u 4', undefined],
  ['', undefined],
])('busctl prints %j', (text, expected) => {
  expect(readMetered(text)).toBe(expected)
})

describe('the default route', () => {
  const head = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n'
  const route = (name: string, destination: string, metric: number, mask = '00000000') =>
    `${name}\t${destination}\t0101A8C0\t0003\t0\t0\t${metric}\t${mask}\t0\t0\t0\n`

  it('is the one with the lowest metric', () => {
    const table = [
      route('eth1', '0001A8C0', 1, '00FFFFFF'),
      route('wlan0', '00000000', 600),
      route('wwan0', '00000000', 50),
      route('tun0', '00000000', 10, '00000080'),
      route('eth0', '00000000', 100),
    ]
    expect(defaultInterfaceIn(head + table.join(''))).toBe('wwan0')
    expect(defaultInterfaceIn(head + table[0])).toBeUndefined()
    expect(defaultInterfaceIn(head)).toBeUndefined()
    expect(defaultInterfaceIn('')).toBeUndefined()
  })

  it.each(['..', '.', 'a/b', 'a b', '', 'a'.repeat(16)])('has no interface %j', (name) => {
    expect(defaultInterfaceIn(head + route(name, '00000000', 1))).toBeUndefined()
  })
})
