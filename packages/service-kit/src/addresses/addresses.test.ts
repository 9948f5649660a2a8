import { describe, expect, it } from 'vitest'
import {
  AddressRefusedError,
  guardedLookup,
  kindOf,
  metadataIpv4Addresses,
  resolveName,
  specialIpv4Blocks,
} from './addresses.ts'
import { specialPurpose } from './special-purpose.ts'

describe('the kind of an address', () => {
  it.each([
    ['1.1.1.1', 'public'],
    ['198.17.255.255', 'public'],
    ['198.20.0.0', 'public'],
    ['2606:4700::1111', 'public'],
    ['2001:200::1', 'public'],
    ['64:ff9b::1.1.1.1', 'public'],
    ['::ffff:1.1.1.1', 'public'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['::1', 'loopback'],
    ['0:0:0:0:0:0:0:1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::FFFF:7f00:1', 'loopback'],
    ['0:0:0:0:0:ffff:7f00:0001', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['64:ff9b::127.0.0.1', 'loopback'],
    ['64:ff9b:0:0:0:0:a00:1', 'private'],
    ['64:ff9b::', 'special'],
    ['::ffff:0:0', 'special'],
    ['::ffff:169.254.169.254', 'link-local'],
    ['64:ff9b::a9fe:a9fe', 'link-local'],
    ['64:ff9b:1::1.1.1.1', 'special'],
    ['64:ff9b:1:7f00:0:100::', 'special'],
    ['64:ff9b:2::1', 'special'],
    ['2002:7f00:1::', 'special'],
    ['2002:101:101::', 'special'],
    ['2001::1', 'special'],
    ['2001:0:102:304::', 'special'],
    ['::7f00:1', 'special'],
    ['::ffff:0:7f00:1', 'special'],
    ['0.0.0.0', 'special'],
    ['::', 'special'],
    ['10.255.255.255', 'private'],
    ['100.64.0.1', 'private'],
    ['169.254.169.254', 'link-local'],
    ['2001:db8::1%eth0', 'link-local'],
    ['168.63.129.16', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['192.0.0.192', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['::ffff:168.63.129.16', 'metadata'],
    ['168.63.129.17', 'public'],
    ['fd00::1', 'private'],
    ['198.18.0.1', 'special'],
    ['198.19.255.255', 'special'],
    ['192.0.0.170', 'special'],
    ['255.255.255.255', 'special'],
    ['224.0.0.251', 'special'],
    ['ff02::fb', 'special'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['1.1.1.1%eth0', 'special'],
    ['fec0::1', 'private'],
    ['2002::1.1.1.1', 'special'],
    ['64:ff9b::a', 'special'],
    ['::ffff:1:0', 'special'],
    ['::ffff:101:0', 'public'],
    ['5f00::1', 'special'],
    ['4000::1', 'special'],
    ['3fff::1', 'special'],
    ['localhost', 'special'],
    ['', 'special'],
  ])('%s is %s', (address, kind) => {
    expect(kindOf(address)).toBe(kind)
  })

  it('no block of the registries has a public address, neither its first nor its last', () => {
    const ends = specialPurpose.flatMap(([block]) => endsOf(block))
    expect(ends.filter((each) => kindOf(each) === 'public')).toEqual([])
    expect(ends).toHaveLength(specialPurpose.length * 2)
  })

  it('each block has a kind, and so have its first and its last address', () => {
    const kinds = ['loopback', 'link-local', 'private', 'special']
    for (const [block, kind] of specialPurpose) {
      expect(kinds, block).toContain(kind)
      for (const each of endsOf(block)) expect(kindOf(each), each).toBe(kind)
    }
  })

  it('the same holds for each IPv4 block when it is embedded in IPv6 by NAT64 or as mapped', () => {
    const ends = specialPurpose.filter(([block]) => block.includes('.')).flatMap(([block]) => endsOf(block))
    for (const each of ends)
      for (const prefix of ['64:ff9b::', '::ffff:', '64:ff9b:1::'])
        expect(kindOf(`${prefix}${each}`), prefix + each).not.toBe('public')
  })
})

it('the lists for other programs have IPv4 alone', () => {
  expect(specialIpv4Blocks).toContain('10.0.0.0/8')
  expect(metadataIpv4Addresses).toContain('168.63.129.16')
  for (const each of [...specialIpv4Blocks, ...metadataIpv4Addresses]) expect(each).not.toContain(':')
  for (const each of metadataIpv4Addresses) expect(each).toMatch(/^[\d.]+$/)
})

describe('a guarded lookup', () => {
  const ask = (addresses: readonly string[], all: boolean) =>
    new Promise((resolve, reject) => {
      const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      const lookup = guardedLookup(
        (address) => kindOf(address) === 'public',
        async () => found,
      )
      lookup('name.example', { all }, (cause, address) => (cause ? reject(cause) : resolve(address)))
    })

  it('gives the addresses that may be connected to, and no other', async () => {
    expect(await ask(['127.0.0.1', '1.1.1.1', '::1'], true)).toEqual([{ address: '1.1.1.1', family: 4 }])
    expect(await ask(['10.0.0.1', '1.1.1.1'], false)).toBe('1.1.1.1')
  })

  it('gives the failure of the resolver', async () => {
    const lookup = guardedLookup(
      () => true,
      () => Promise.reject(new Error('ENOTFOUND')),
    )
    const failure = new Promise((resolve) => lookup('name.example', { all: true }, resolve))
    expect(await failure).toMatchObject({ message: 'ENOTFOUND' })
  })

  it('gives one address with its family, unless all are requested', async () => {
    const lookup = guardedLookup(
      () => true,
      async () => [{ address: '2001:db8::1', family: 6 }],
    )
    const found = new Promise((resolve) => lookup('name.example', {}, (...result) => resolve(result)))
    expect(await found).toEqual([null, '2001:db8::1', 6])
  })

  it('adds to a refusal what to do about it', async () => {
    const lookup = guardedLookup(
      () => false,
      async () => [{ address: '10.0.0.1', family: 4 }],
      'allow it',
    )
    const refusal = new Promise((resolve) => lookup('name.example', { all: true }, resolve))
    expect(await refusal).toBeInstanceOf(AddressRefusedError)
    expect(await refusal).toMatchObject({
      message: 'name.example resolves to 10.0.0.1, which is not public; allow it',
      name: 'AddressRefusedError',
    })
  })

  it('resolves a name to all of its addresses', async () => {
    expect((await resolveName('localhost')).map(({ address }) => kindOf(address))).toContain('loopback')
  })

  it('names the host and its address where none is left', async () => {
    await expect(ask(['64:ff9b::7f00:1'], true)).rejects.toThrow(
      'name.example resolves to 64:ff9b::7f00:1, which is not public',
    )
    await expect(ask([], true)).rejects.toThrow(/^name\.example resolves to no address, which is not public$/)
  })

  it('gives no address with a failure', async () => {
    const answerOf = (resolve: Parameters<typeof guardedLookup>[1]) =>
      new Promise<unknown[]>((done) =>
        guardedLookup(() => false, resolve)('name.example', {}, (...result) => done(result)),
      )
    expect((await answerOf(async () => [{ address: '10.0.0.1', family: 4 }])).slice(1)).toEqual(['', 0])
    expect((await answerOf(() => Promise.reject(new Error('ENOTFOUND')))).slice(1)).toEqual(['', 0])
  })
})

/** The first and the last address of a block. */
function endsOf(block: string): [string, string] {
  const [net = '', length = ''] = block.split('/')
  const isV6 = net.includes(':')
  const width = isV6 ? 128n : 32n
  const size = (1n << (width - BigInt(length))) - 1n
  const parts = isV6 ? groupsOf(net) : net.split('.').map(Number)
  const first = parts.reduce((sum, each) => (sum << (isV6 ? 16n : 8n)) + BigInt(each), 0n)
  const write = (value: bigint) =>
    isV6
      ? Array.from({ length: 8 }, (_, at) => ((value >> BigInt(112 - at * 16)) & 0xffffn).toString(16)).join(
          ':',
        )
      : Array.from({ length: 4 }, (_, at) => (value >> BigInt(24 - at * 8)) & 0xffn).join('.')
  return [write(first), write(first + size)]
}

function groupsOf(net: string): number[] {
  const [head = '', tail = ''] = net.split('::')
  const read = (text: string) => (text === '' ? [] : text.split(':').map((each) => Number.parseInt(each, 16)))
  const [left, right] = [read(head), read(tail)]
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right]
}
