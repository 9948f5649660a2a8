/** When an issuer is asked for its keys, and which of its answers count. */
import { generateKeyPairSync } from 'node:crypto'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createIssuerKeys, type IssuerKeys } from './issuer-keys.ts'

const issuer = 'https://identity.example'
const metadataUrl = `${issuer}/.well-known/oauth-authorization-server`
const makeJwk = (kid: string) => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
  ...{ kid, alg: 'ES256', use: 'sig' },
})
const first = makeJwk('first')
const second = makeJwk('second')

let now: number
let keys: IssuerKeys
let published: readonly object[]
/** Path of the key set, as the metadata name it. */
let keySetUrl: string
/** Replaces an answer. */
let answer: ((url: string) => Response | Promise<Response> | undefined) | undefined
/** The requests so far. */
let asked: string[]
let requests: (RequestInit | undefined)[]

beforeEach(() => {
  now = Date.UTC(2026, 0, 1)
  published = [first]
  keySetUrl = `${issuer}/keys`
  answer = undefined
  asked = []
  requests = []
  keys = createIssuerKeys({
    issuer,
    now: () => now,
    fetch: async (input, options) => {
      const url = String(input)
      asked.push(url)
      requests.push(options)
      const replaced = answer?.(url)
      if (replaced) return replaced
      const metadata = { issuer, jwks_uri: keySetUrl, token_endpoint: `${issuer}/token` }
      if (url === metadataUrl) return Response.json(metadata)
      return url === keySetUrl ? Response.json({ keys: published }) : new Response('', { status: 404 })
    },
  })
})

const has = async (kid: string) => (await keys.find(kid)) !== undefined
const fails = () => {
  answer = () => new Response('', { status: 500 })
}

describe('the keys of an issuer', () => {
  it('are fetched from the key set that its metadata name, when the first one is needed', async () => {
    expect(asked).toEqual([])
    expect(await has('first')).toBe(true)
    expect(asked).toEqual([metadataUrl, keySetUrl])
    expect(await has('first')).toBe(true)
    expect(asked.length).toBe(2)
    // A redirect would name another issuer.
    for (const options of requests)
      expect(options).toMatchObject({ redirect: 'error', signal: expect.any(AbortSignal) })
  })

  it('verify, and can neither sign nor be read', async () => {
    const key = await keys.find('first')
    expect(key).toMatchObject({ type: 'public', extractable: false, usages: ['verify'] })
    expect(key!.algorithm).toMatchObject({ name: 'ECDSA', namedCurve: 'P-256' })
  })

  it('are the same objects after another fetch, and another one if the key is another', async () => {
    published = [first, second]
    const before = [await keys.find('first'), await keys.find('second')]
    published = [first, { ...makeJwk('second') }]
    now += 600_001
    expect(await keys.find('first')).toBe(before[0])
    expect(await keys.find('second')).not.toBe(before[1])
    expect(await has('second')).toBe(true)
  })

  it('leave out one that is no point of the curve, and have the others', async () => {
    published = [{ ...first, y: Buffer.alloc(32, 1).toString('base64url') }, second]
    expect(await has('first')).toBe(false)
    expect(await has('second')).toBe(true)
    published = [first]
    expect(await has('first')).toBe(true)
  })

  it.each([
    [600_000, 0],
    [600_001, 1],
    [-600_000, 0],
    // The clock was set back.
    [-600_001, 1],
  ])('of %i ms are fetched again %i times', async (ageMs, times) => {
    await has('first')
    asked = []
    now += ageMs
    expect(await has('first')).toBe(true)
    expect(asked).toEqual(Array(times).fill(keySetUrl))
  })

  it.each([
    [86_400_000, true],
    [86_400_001, false],
  ])('of %i ms are used without an answer: %s', async (ageMs, isUsed) => {
    await has('first')
    fails()
    now += ageMs
    const found = has('first').catch(({ message }: Error) => message)
    expect(await found).toBe(isUsed || `${keySetUrl} answered HTTP 500`)
  })
})

describe('an answer does not count', () => {
  const tooLong = () => new Response(`${JSON.stringify({ keys: [first] })}${' '.repeat(1024 * 1024)}`)
  it.each<[why: string, url: string, make: () => Response]>([
    ['with an error as its status', metadataUrl, () => new Response('{}', { status: 404 })],
    [
      'with an error as the status of the key set, whatever its body is',
      `${issuer}/keys`,
      () => Response.json({ keys: [first] }, { status: 500 }),
    ],
    ['that is longer than a megabyte', `${issuer}/keys`, tooLong],
    ['that is no JSON', `${issuer}/keys`, () => new Response('keys')],
    ['that is no key set', `${issuer}/keys`, () => Response.json({})],
    [
      'of another issuer',
      metadataUrl,
      () => Response.json({ issuer: 'https://other.example', jwks_uri: keySetUrl, token_endpoint: '' }),
    ],
  ])('%s', async (_, wrong, make) => {
    answer = (url) => (url === wrong ? make() : undefined)
    await expect(has('first')).rejects.toThrow()
    answer = undefined
    now += 250
    expect(await has('first')).toBe(true)
  })
})

describe('an unknown key', () => {
  it('has the keys fetched three times at once, and then every ten seconds', async () => {
    await has('first')
    asked = []
    const lookFor = async (count: number) => {
      for (let at = 0; at < count; at++) expect(await has(`unknown ${at}`)).toBe(false)
      return asked.length
    }
    expect(await lookFor(10)).toBe(3)
    now += 9_999
    expect(await lookFor(10)).toBe(3)
    now += 1
    expect(await lookFor(10)).toBe(4)
    now += 20_000
    expect(await lookFor(10)).toBe(6)
    // What was not used does not add up.
    now += 300_000
    expect(await lookFor(10)).toBe(9)
    expect(new Set(asked)).toEqual(new Set([keySetUrl]))
  })

  it('is found if the issuer has published it since', async () => {
    await has('first')
    published = [first, second]
    expect(await has('second')).toBe(true)
  })

  it('waits for a fetch that is under way, and costs no other one', async () => {
    await has('first')
    asked = []
    published = [first, second]
    expect(await Promise.all(['a', 'second', 'b', 'c', 'd'].map(has))).toEqual([
      false,
      true,
      false,
      false,
      false,
    ])
    expect(asked.length).toBe(1)
    await has('e')
    await has('f')
    expect(asked.length).toBe(3)
  })

  it('is not called unknown while the issuer fails: it may be new', async () => {
    await has('first')
    fails()
    await expect(has('second')).rejects.toThrow(`${keySetUrl} answered HTTP 500`)
    expect(await has('first')).toBe(true)
    await expect(has('second')).rejects.toThrow(`${keySetUrl} answered HTTP 500`)
  })
})

describe('after a failure', () => {
  it('the pause doubles with each one, up to a minute, and a success ends that', async () => {
    fails()
    await expect(has('first')).rejects.toThrow(`${metadataUrl} answered HTTP 500`)
    for (const pauseMs of [250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
      asked = []
      now += pauseMs - 1
      await expect(has('first')).rejects.toThrow(`${metadataUrl} answered HTTP 500`)
      expect(asked).toEqual([])
      now += 1
      await expect(has('first')).rejects.toThrow(`${metadataUrl} answered HTTP 500`)
      expect(asked).toEqual([metadataUrl])
    }
    answer = undefined
    now += 60_000
    expect(await has('first')).toBe(true)
    fails()
    now += 86_400_001
    await expect(has('first')).rejects.toThrow('500')
    asked = []
    now += 250
    await expect(has('first')).rejects.toThrow('500')
    expect(asked.length).toBe(1)
  })

  it('a clock that was set back is no reason to wait', async () => {
    fails()
    await expect(has('first')).rejects.toThrow('500')
    answer = undefined
    now -= 3_600_000
    expect(await has('first')).toBe(true)
  })

  it('the metadata are read again: the key set may have another address', async () => {
    await has('first')
    keySetUrl = `${issuer}/moved`
    now += 600_001
    expect(await has('first')).toBe(true)
    now += 250
    asked = []
    published = [second]
    expect(await has('first')).toBe(false)
    expect(asked).toEqual([metadataUrl, keySetUrl])
  })
})

describe('a slow issuer', () => {
  /** Has the timers of the code wait for the test, and the next answers, too. @returns what has the answers come */
  function slowDown(): () => void {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { promise, resolve } = Promise.withResolvers<void>()
    answer = (url) =>
      promise.then(() => (url === keySetUrl ? Response.json({ keys: published }) : undefined!))
    return resolve
  }
  /** What a promise came to so far. */
  function watch(found: Promise<boolean>): { outcome: unknown } {
    const seen: { outcome: unknown } = { outcome: 'waits' }
    found.then(
      (value) => Object.assign(seen, { outcome: value }),
      (cause: Error) => Object.assign(seen, { outcome: cause.message }),
    )
    return seen
  }

  it('delays a request with a known key for half a second', async () => {
    await has('first')
    slowDown()
    now += 600_001
    const found = watch(has('first'))
    await vi.advanceTimersByTimeAsync(499)
    expect(found.outcome).toBe('waits')
    await vi.advanceTimersByTimeAsync(1)
    expect(found.outcome).toBe(true)
  })

  it('delays it no longer than until the answer', async () => {
    await has('first')
    const proceed = slowDown()
    now += 600_001
    const found = watch(has('first'))
    await vi.advanceTimersByTimeAsync(100)
    proceed()
    await expect.poll(() => found.outcome).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('delays a request with an unknown key until it has answered', async () => {
    await has('first')
    const proceed = slowDown()
    published = [first, second]
    const found = watch(has('second'))
    await vi.advanceTimersByTimeAsync(4_000)
    expect(found.outcome).toBe('waits')
    proceed()
    await expect.poll(() => found.outcome).toBe(true)
  })

  it('delays such a request for half a second if it has failed before', async () => {
    await has('first')
    fails()
    await expect(has('second')).rejects.toThrow('500')
    slowDown()
    now += 250
    const found = watch(has('second'))
    await vi.advanceTimersByTimeAsync(500)
    expect(found.outcome).toBe(`${keySetUrl} answered HTTP 500`)
  })

  it('is given up after five seconds, also if the function for requests ignores that', async () => {
    const controller = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(controller.signal)
    onTestFinished(() => timeout.mockRestore())
    slowDown()
    const found = watch(has('first'))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(found.outcome).toBe('waits')
    controller.abort(new Error('no answer in time'))
    await expect.poll(() => found.outcome).toBe('no answer in time')
    expect(timeout.mock.calls).toEqual([[5000]])
  })
})
