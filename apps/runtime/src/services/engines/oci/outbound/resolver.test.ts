/** The name server of a container: which names it answers, with which addresses, and what it opens for them. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { decode, encode } from 'dns-packet'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Opened } from './opened.ts'
import {
  type Answering,
  createAnswering,
  type FoundAddress,
  openResolver,
  type Resolver,
} from './resolver.ts'

let at: number
let asked: string[]
let opened: string[]
let logged: string[]
let upstream: (name: string) => Promise<readonly FoundAddress[]>
let refusal: Error | undefined

beforeEach(() => {
  at = 0
  asked = []
  opened = []
  logged = []
  refusal = undefined
  upstream = async () => [{ address: '1.1.1.1', ttl: 60 }]
})

const parts = (destinations: { isPublic: boolean; names?: [string, number[]][] }) => ({
  destinations: { isPublic: destinations.isPublic, names: new Map(destinations.names) },
  opened: {
    async open(openings) {
      if (refusal) throw refusal
      opened.push(...openings.map(({ address, port }) => `${address}:${port}`))
    },
  } satisfies Opened,
  ask: (name: string) => {
    asked.push(name)
    return upstream(name)
  },
  log: (text: string) => void logged.push(text),
  now: () => at,
})
const listed = (): Answering =>
  createAnswering(parts({ isPublic: false, names: [['api.example', [443, 8443]]] }))
const open = (): Answering => createAnswering(parts({ isPublic: true }))

const question = (name: string, type: 'A' | 'AAAA' | 'TXT' | 'ANY' = 'A') =>
  encode({ type: 'query', id: 1, flags: 256, questions: [{ type: type as 'A', name }] })
async function answerOf(answering: Answering, packet: Buffer) {
  const bytes = await answering(packet)
  if (!bytes) return undefined
  const { rcode, answers = [] } = decode(bytes) as unknown as {
    rcode: string
    answers?: { data: string; ttl: number }[]
  }
  return { rcode, addresses: answers.map(({ data }) => data), ttl: answers[0]?.ttl }
}
const found = (...addresses: readonly string[]) => addresses.map((address) => ({ address, ttl: 60 }))
const failing = (code: string) => async (): Promise<never> => {
  throw Object.assign(new Error(code), { code })
}

describe('a listed name', () => {
  it('is answered, and its addresses are open on its ports before the answer', async () => {
    upstream = async () => found('1.1.1.1', '1.0.0.1')
    expect(await answerOf(listed(), question('API.example'))).toEqual({
      rcode: 'NOERROR',
      addresses: ['1.1.1.1', '1.0.0.1'],
      ttl: 60,
    })
    expect(opened).toEqual(['1.1.1.1:443', '1.1.1.1:8443', '1.0.0.1:443', '1.0.0.1:8443'])
  })

  it('is not answered with an address that could not be opened', async () => {
    refusal = new Error('no room')
    expect(await answerOf(listed(), question('api.example'))).toMatchObject({
      rcode: 'SERVFAIL',
      addresses: [],
    })
    expect(logged[0]).toContain('api.example could not be opened: no room')
  })

  it('is asked for once while its answer is valid, for 30 s at least and 5 minutes at most', async () => {
    const answering = listed()
    upstream = async () => [{ address: '1.1.1.1', ttl: 0 }]
    expect((await answerOf(answering, question('api.example')))!.ttl).toBe(30)
    at = 29_999
    await answerOf(answering, question('api.example'))
    expect(asked).toHaveLength(1)
    at = 30_000
    upstream = async () => [{ address: '1.1.1.1', ttl: 2 ** 31 }]
    expect((await answerOf(answering, question('api.example')))!.ttl).toBe(300)
    expect(asked).toHaveLength(2)
  })
})

describe('a name that is not listed', () => {
  it.each(['other.example', 'x.api.example', 'example', 'api.example.evil.example', ''])(
    '%j does not exist, and no server is asked for it',
    async (name) => {
      expect(await answerOf(listed(), question(name))).toMatchObject({ rcode: 'NXDOMAIN', addresses: [] })
      expect(asked).toEqual([])
    },
  )

  it('is answered where all public addresses are open; then nothing has to be opened', async () => {
    expect(await answerOf(open(), question('other.example'))).toMatchObject({ addresses: ['1.1.1.1'] })
    expect(opened).toEqual([])
  })
})

describe('a name that leads to an address that is not public (DNS rebinding)', () => {
  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '192.168.1.1',
    '172.16.0.1',
    '169.254.169.254',
    '168.63.129.16',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '192.0.2.53',
    'not an address',
    '::1',
  ])('%s is neither answered nor opened, and the log names it', async (address) => {
    upstream = async () => found(address)
    for (const answering of [listed(), open()]) {
      expect(await answerOf(answering, question('api.example'))).toMatchObject({
        rcode: 'NXDOMAIN',
        addresses: [],
      })
      expect(opened).toEqual([])
    }
    expect(logged).toHaveLength(2)
    expect(logged[0]).toContain(`api.example resolves to ${address}`)
  })

  it('has its public addresses alone', async () => {
    upstream = async () => found('10.0.0.1', '1.1.1.1', '127.0.0.1')
    expect(await answerOf(listed(), question('api.example'))).toMatchObject({ addresses: ['1.1.1.1'] })
    expect(opened).toEqual(['1.1.1.1:443', '1.1.1.1:8443'])
  })

  it('writes one line, and 32 lines for all names', async () => {
    upstream = async () => found('10.0.0.1')
    const answering = open()
    for (let count = 0; count < 100; count++) await answerOf(answering, question(`${count % 50}.example`))
    expect(logged).toHaveLength(32)
  })
})

describe('other questions', () => {
  it.each(['AAAA', 'TXT', 'ANY'] as const)(
    'of the type %s have no record, and open nothing',
    async (type) => {
      expect(await answerOf(listed(), question('api.example', type))).toEqual({
        rcode: 'NOERROR',
        addresses: [],
        ttl: undefined,
      })
      expect([asked, opened]).toEqual([[], []])
    },
  )

  it('that are no DNS are not answered', async () => {
    expect(await listed()(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toBeUndefined()
    expect(await listed()(Buffer.alloc(0))).toBeUndefined()
  })
})

describe('hostile servers and containers', () => {
  it.each([
    ['ENOTFOUND', 'NXDOMAIN'],
    ['ENODATA', 'NXDOMAIN'],
    ['ETIMEOUT', 'SERVFAIL'],
    ['ECONNREFUSED', 'SERVFAIL'],
  ])('a server that fails with %s: %s', async (code, rcode) => {
    upstream = failing(code)
    expect(await answerOf(listed(), question('api.example'))).toMatchObject({ rcode, addresses: [] })
  })

  it('of a server with a thousand addresses, eight count', async () => {
    upstream = async () =>
      found(...Array.from({ length: 1000 }, (_, count) => `1.1.${count >> 8}.${count & 255}`))
    expect((await answerOf(listed(), question('api.example')))!.addresses).toHaveLength(8)
    expect(opened).toHaveLength(16)
  })

  it('while a server never answers, 32 questions wait, and those above are dropped', async () => {
    const answered = Promise.withResolvers<readonly FoundAddress[]>()
    upstream = () => answered.promise
    const answering = open()
    const waiting = Array.from({ length: 32 }, (_, count) => answering(question(`${count}.example`)))
    expect(await answering(question('more.example'))).toBeUndefined()
    expect(asked).toHaveLength(32)
    answered.resolve(found('1.1.1.1'))
    expect((await Promise.all(waiting)).every(Boolean)).toBe(true)
    expect(await answering(question('more.example'))).toBeDefined()
  })

  it('of a flood, 200 questions at once and 100 a second are answered', async () => {
    const answering = listed()
    const flood = async () => {
      let answers = 0
      for (let count = 0; count < 1000; count++) if (await answering(question('other.example'))) answers++
      return answers
    }
    expect(await flood()).toBe(200)
    at = 1000
    expect(await flood()).toBe(100)
    at = 100_000
    expect(await flood()).toBe(200)
  })
})

describe('its socket', () => {
  let resolver: Resolver
  afterEach(() => resolver.close())

  it('answers its container, and no other address', async () => {
    const open_ = (client: string) =>
      openResolver({ ...parts({ isPublic: true }), address: '127.0.0.1', client })
    const client = createSocket('udp4')
    resolver = await open_('10.0.0.2')
    client.send(question('a.example'), resolver.port, '127.0.0.1')
    const other = await open_('127.0.0.1')
    const answered = once(client, 'message')
    client.send(question('b.example'), other.port, '127.0.0.1')
    await answered
    expect(asked).toEqual(['b.example'])
    client.close()
    other.close()
  })
})

describe('a member of the same app', () => {
  const member = (found: string | null | Error) =>
    createAnswering({
      ...parts({ isPublic: true }),
      askMember: async (name) => {
        if (name !== 'db') return undefined
        if (found instanceof Error) throw found
        return found
      },
    })

  it('is answered with its present address, for seconds, and no name server is asked', async () => {
    expect(await answerOf(member('10.89.4.2'), question('DB'))).toEqual({
      rcode: 'NOERROR',
      addresses: ['10.89.4.2'],
      ttl: 2,
    })
    expect(await answerOf(member('10.89.4.2'), question('db', 'AAAA'))).toMatchObject({
      rcode: 'NOERROR',
      addresses: [],
    })
    expect(asked).toEqual([])
    expect(await answerOf(member('10.89.4.2'), question('api.example'))).toMatchObject({
      addresses: ['1.1.1.1'],
    })
  })

  it('that does not run, or cannot be opened, is a failure that passes', async () => {
    for (const found of [null, new Error('nft failed')])
      expect(await answerOf(member(found), question('db'))).toMatchObject({
        rcode: 'SERVFAIL',
        addresses: [],
      })
    expect(logged).toEqual(['the member db could not be opened: nft failed'])
    expect(asked).toEqual([])
  })

  it('is nothing to a container without an app', async () => {
    expect(await answerOf(listed(), question('db'))).toMatchObject({ rcode: 'NXDOMAIN' })
  })
})
