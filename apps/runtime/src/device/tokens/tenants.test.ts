import { generateKeyPairSync } from 'node:crypto'
import { ConnectionFailure } from '@selvedge/client'
import { beforeEach, describe, expect, it } from 'vitest'
import { openTenants } from './tenants.ts'

it('opens each issuer once, the cloud among them, so that a notice about one is not cleared by another', async () => {
  const asked: string[] = []
  const raised = new Set<string>()
  const tenants = openTenants({
    issuers: ['https://a.example', 'https://b.example'],
    cloud: 'https://c.example',
    state: { value: { keySets: {} }, update: async () => undefined } as never,
    clock: { now: () => 0 } as never,
    notices: {
      raise: (reason: string) => raised.add(reason),
      clear: (reason: string) => raised.delete(reason),
    } as never,
    getJson: async (url) => {
      asked.push(new URL(url).host)
      // What a is answers with cannot be read as keys.
      if (url.startsWith('https://a.')) return { keys: 'none' }
      return url.endsWith('jwks')
        ? { keys: [] }
        : { issuer: new URL(url).origin, jwks_uri: `${new URL(url).origin}/jwks`, token_endpoint: url }
    },
  })
  expect(tenants.issuers.map(({ issuer }) => issuer)).toEqual(['https://a.example', 'https://b.example'])
  expect(tenants.cloud.issuer).toBe('https://c.example')
  for (const each of [...tenants.issuers, tenants.cloud]) await each.refresh()
  expect([...raised]).toEqual(['keys_refused'])
})

it('gives the issuer that is the cloud as well as both, opened once', () => {
  let opened = 0
  const state = {
    get value() {
      opened++
      return { keySets: {} }
    },
  }
  const issuer = 'https://a.example'
  openTenants({
    issuers: [issuer],
    cloud: issuer,
    state,
    clock: { now: () => 0 },
    notices: {},
    getJson: async () => ({}),
  } as never)
  expect(opened).toBe(1)
})

describe('the keys of an issuer', () => {
  const issuer = 'https://a.example'
  const jwkOf = (kid: string) => ({
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
    kid,
    alg: 'ES256',
    use: 'sig',
  })
  const keySet = { keys: [jwkOf('k1')] }
  const later = { keys: [jwkOf('k2')] }

  let time: number
  let keySets: Record<string, unknown>
  let isFull: boolean
  let answer: () => unknown
  let raised: Map<string, object>
  beforeEach(() => {
    time = 0
    keySets = {}
    isFull = false
    answer = () => keySet
    raised = new Map()
  })
  const open = (issuers = [issuer], retryTimes?: { firstMs: number; maxMs: number }) =>
    openTenants({
      ...(retryTimes && { retryTimes }),
      issuers,
      cloud: issuer,
      state: {
        get value() {
          return { keySets, accountId: 'account' }
        },
        async update(change: (value: object) => { keySets: typeof keySets }) {
          if (isFull) throw new Error('full')
          const value = change({ keySets, accountId: 'account' })
          expect(value).toMatchObject({ accountId: 'account' })
          keySets = value.keySets
        },
      } as never,
      clock: { now: () => time },
      notices: {
        raise: (reason: string, details: object) => raised.set(reason, details),
        clear: (reason: string) => raised.delete(reason),
      } as never,
      getJson: async (url) => {
        if (!url.endsWith('jwks'))
          return { issuer: new URL(url).origin, jwks_uri: `${new URL(url).origin}/jwks`, token_endpoint: url }
        return answer()
      },
    })

  it('are stored beside those of others, and are there after a restart without a network', async () => {
    keySets = { 'https://b.example': later }
    const tenants = open()
    let changes = 0
    tenants.onChange(() => changes++)
    expect(await tenants.cloud.refresh()).toBe(true)
    expect(changes).toBe(1)
    expect(keySets).toEqual({ [issuer]: keySet, 'https://b.example': later })
    answer = () => {
      throw new ConnectionFailure('not_running', 'away')
    }
    expect(open().cloud.findKey('k1')).toBeDefined()
    expect([...raised.keys()]).toEqual([])
  })

  it('raise a notice until they can be stored, and count as not fetched until then', async () => {
    const tenants = open()
    isFull = true
    expect(await tenants.cloud.refresh()).toBe(false)
    expect(Object.fromEntries(raised)).toMatchObject({
      keys_not_stored: { issuer, cause: expect.objectContaining({ message: 'full' }) },
    })
    expect(tenants.cloud.findKey('k1')).toBeDefined()
    time += 10_000
    expect(await tenants.cloud.refresh()).toBe(false)
    expect([...raised.keys()]).toEqual(['keys_not_stored'])
    isFull = false
    time += 10_000
    await tenants.cloud.refresh()
    await new Promise((resolve) => setImmediate(resolve))
    expect([...raised.keys()]).toEqual([])
    expect(keySets).toEqual({ [issuer]: keySet })
    time += 10_000
    expect(await tenants.cloud.refresh()).toBe(true)
  })

  it('are stored once the disk works again, without a network, so that a restart offline accepts tokens', async () => {
    const tenants = open([issuer], { firstMs: 1, maxMs: 4 })
    isFull = true
    expect(await tenants.cloud.refresh()).toBe(false)
    answer = () => {
      throw new ConnectionFailure('not_running', 'away')
    }
    isFull = false
    await expect.poll(() => raised.size).toBe(0)
    expect(open().cloud.findKey('k1')).toBeDefined()
  })

  it('that were not stored are tried once more when the device stops', async () => {
    const tenants = open()
    isFull = true
    await tenants.cloud.refresh()
    isFull = false
    await tenants.stop()
    expect(keySets).toEqual({ [issuer]: keySet })
  })

  it('of one issuer that are stored do not clear the notice about another one', async () => {
    const tenants = open([issuer, 'https://b.example'])
    isFull = true
    await tenants.issuers[1]!.refresh()
    isFull = false
    await tenants.issuers[0]!.refresh()
    await new Promise((resolve) => setImmediate(resolve))
    expect(raised.get('keys_not_stored')).toMatchObject({ issuer: 'https://b.example' })
  })

  it('that are refused raise a notice until the issuer has valid ones, also if it is away meanwhile', async () => {
    const tenants = open()
    answer = () => ({ keys: 'broken' })
    expect(await tenants.cloud.refresh()).toBe(false)
    expect(raised.get('keys_refused')).toMatchObject({ issuer, cause: expect.any(Error) })
    answer = () => {
      throw new ConnectionFailure('not_running', 'away')
    }
    await tenants.cloud.refresh()
    expect([...raised.keys()]).toEqual(['keys_refused'])
    answer = () => keySet
    time += 10_000
    await tenants.cloud.refresh()
    expect([...raised.keys()]).toEqual([])
  })

  it('of an issuer that is away raise no notice', async () => {
    answer = () => {
      throw new ConnectionFailure('not_running', 'away')
    }
    expect(await open().cloud.refresh()).toBe(false)
    expect([...raised.keys()]).toEqual([])
  })
})
