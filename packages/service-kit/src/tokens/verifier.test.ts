import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { accessProfile, edgeAudience, edgeIdProfile, type TokenError } from '@selvedge/protocol/tokens'
import { describe, expect, it, vi } from 'vitest'
import { seconds } from '../clock/clock.ts'
import { createFakeClock, createMemoryLog } from '../testing/index.ts'
import { createRemoteIssuer, logOutcome } from './remote-issuer.ts'
import { signJws } from './sign.ts'
import { createTokenVerifier, type Issuer } from './verifier.ts'

const issuer = 'https://identity.example'
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

function make(overrides: Partial<Issuer> = {}) {
  const clock = createFakeClock()
  const findKey = vi.fn((kid: string): KeyObject | undefined => (kid === 'k1' ? publicKey : undefined))
  const verifier = createTokenVerifier({
    issuers: () => [{ issuer, findKey, ...overrides }],
    clock,
    remembered: 10,
  })
  const now = seconds(clock)
  const claims = {
    iss: issuer,
    sub: 'a',
    aud: edgeAudience,
    iat: now,
    exp: now + 3600,
    jti: 'j',
    client_id: 'c',
    account_id: 'a',
    node_id: 'a'.repeat(56),
    scope: 'openid',
    act: { sub: 'a'.repeat(56) },
    azp: 'c',
    auth_time: now,
  }
  const token = signJws({ typ: 'at+jwt', kid: 'k1' }, claims, privateKey)
  return { clock, findKey, verifier, claims, token }
}

const reasonOf = (check: () => unknown) => {
  try {
    check()
    return 'accepted'
  } catch (cause) {
    return (cause as TokenError).reason
  }
}

describe('a verified token', () => {
  it('is not verified again while it is cached', () => {
    const { verifier, token, claims } = make()
    const first = verifier.verify(token, accessProfile, edgeAudience)
    expect(first).toEqual(claims)
    expect(verifier.verify(token, accessProfile, edgeAudience)).toBe(first)
  })

  it('lends its signature to no other token, and stays in the cache', () => {
    const { verifier, token, claims } = make()
    const first = verifier.verify(token, accessProfile, edgeAudience)
    const [head, , signature] = token.split('.')
    const forged = Buffer.from(JSON.stringify({ ...claims, account_id: 'b' })).toString('base64url')
    expect(
      reasonOf(() => verifier.verify(`${head}.${forged}.${signature}`, accessProfile, edgeAudience)),
    ).toBe('token_untrusted')
    expect(verifier.verify(token, accessProfile, edgeAudience)).toBe(first)
  })

  it('is refused as soon as its issuer has its key no more, or another one under the same id', () => {
    const { verifier, token, findKey } = make()
    verifier.verify(token, accessProfile, edgeAudience)
    findKey.mockReturnValue(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey)
    expect(reasonOf(() => verifier.verify(token, accessProfile, edgeAudience))).toBe('token_untrusted')
    findKey.mockReturnValue(undefined)
    expect(reasonOf(() => verifier.verify(token, accessProfile, edgeAudience))).toBe('token_untrusted')
  })

  it('is malformed if its key confirmation is not valid, whatever the value', () => {
    const { verifier, claims } = make()
    for (const cnf of [null, 1, 'x', [], {}, { jkt: '' }, { jkt: null }]) {
      const token = signJws({ typ: 'at+jwt', kid: 'k1' }, { ...claims, cnf }, privateKey)
      expect(reasonOf(() => verifier.verify(token, accessProfile, edgeAudience))).toBe('token_malformed')
    }
  })

  it('is refused when it expires, cached or not', () => {
    const { verifier, token, clock } = make()
    verifier.verify(token, accessProfile, edgeAudience)
    clock.advance(3600_000 + 59_000)
    expect(reasonOf(() => verifier.verify(token, accessProfile, edgeAudience))).toBe('accepted')
    clock.advance(1000)
    expect(reasonOf(() => verifier.verify(token, accessProfile, edgeAudience))).toBe('token_expired')
  })

  it('is not accepted for another audience because it was valid for one', () => {
    const { verifier, token } = make()
    verifier.verify(token, accessProfile, edgeAudience)
    expect(reasonOf(() => verifier.verify(token, accessProfile, 'urn:other'))).toBe('token_untrusted')
  })

  it('with the same header and payload but a made-up signature is not believed', () => {
    const { verifier, token } = make()
    verifier.verify(token, accessProfile, edgeAudience)
    const forged = token.slice(0, token.lastIndexOf('.') + 1) + Buffer.alloc(64, 1).toString('base64url')
    expect(reasonOf(() => verifier.verify(forged, accessProfile, edgeAudience))).toBe('token_untrusted')
  })

  it('that has expired is still accepted for past facts, on request', async () => {
    const { verifier, token, clock, claims } = make()
    clock.advance(100 * 3600_000)
    expect(await verifier.verifyEnded(token, accessProfile, edgeAudience)).toEqual(claims)
    expect(reasonOf(() => verifier.verify(token, accessProfile, edgeAudience))).toBe('token_expired')
  })
})

describe('an issuer', () => {
  const verifyWith = (issuers: () => readonly Issuer[], token: string) => {
    const { clock } = make()
    return createTokenVerifier({ issuers, clock, remembered: 10 }).verify(token, accessProfile, edgeAudience)
  }

  it('that is not trusted is named in the refusal, up to 200 characters', () => {
    const { claims } = make()
    const iss = `https://${'x'.repeat(300)}`
    const token = signJws({ typ: 'at+jwt', kid: 'k1' }, { ...claims, iss }, privateKey)
    expect(() => verifyWith(() => [{ issuer, findKey: () => publicKey }], token)).toThrow(
      expect.objectContaining({
        reason: 'token_untrusted',
        message: `the access token is of the issuer "${iss.slice(0, 200)}", which is not trusted here`,
      }),
    )
  })

  it('has its own keys, and no other issuer has them', () => {
    const { token } = make()
    const other = { issuer: 'https://other.example', findKey: () => publicKey }
    const own = { issuer, findKey: () => undefined }
    for (const issuers of [
      [other, own],
      [own, other],
    ])
      expect(reasonOf(() => verifyWith(() => issuers, token))).toBe('token_untrusted')
  })

  it('that is not trusted any more is not believed for a token that was verified before', () => {
    const { clock, token } = make()
    let issuers: Issuer[] = [{ issuer, findKey: () => publicKey }]
    const verifier = createTokenVerifier({ issuers: () => issuers, clock, remembered: 10 })
    verifier.verify(token, accessProfile, edgeAudience)
    issuers = []
    expect(reasonOf(() => verifier.verify(token, accessProfile, edgeAudience))).toBe('token_untrusted')
  })
})

it('a token is verified once until its end, leeway included', () => {
  const { verifier, token, clock } = make()
  const first = verifier.verify(token, accessProfile, edgeAudience)
  clock.advance(3600_000 + 59_000)
  expect(verifier.verify(token, accessProfile, edgeAudience)).toBe(first)
})

it('a token that was verified as one kind is not accepted as another one', () => {
  const { verifier, token } = make()
  verifier.verify(token, accessProfile, edgeAudience)
  expect(reasonOf(() => verifier.verify(token, edgeIdProfile, edgeAudience))).toBe('token_untrusted')
})

describe('the keys of an issuer elsewhere', () => {
  const jwkOf = (kid: string) => ({ ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' })
  const serve = (kids: () => string[]) =>
    vi.fn(async (url: string) =>
      url.endsWith('/jwks')
        ? { keys: kids().map(jwkOf) }
        : { issuer, jwks_uri: `${issuer}/jwks`, token_endpoint: `${issuer}/token` },
    )

  it('are fetched when a token names one that is not known, and cached', async () => {
    const { clock, token } = make()
    const getJson = serve(() => ['k1'])
    const onChange = vi.fn()
    const remote = createRemoteIssuer({ issuer, clock, getJson, onChange })
    const verifier = createTokenVerifier({ issuers: () => [remote], clock, remembered: 10 })
    await verifier.verify(token, accessProfile, edgeAudience)
    expect(onChange).toHaveBeenCalledTimes(1)
    const again = createRemoteIssuer({
      issuer,
      clock,
      getJson: async () => {
        throw new Error('offline')
      },
      stored: onChange.mock.calls[0]![0],
    })
    expect(again.findKey('k1')).toBeDefined()
  })

  it('are fetched again every ten minutes while they are used: a key that was removed is refused then', async () => {
    const { clock, token } = make()
    let kids = ['k1']
    const getJson = serve(() => kids)
    const remote = createRemoteIssuer({ issuer, clock, getJson })
    const verifier = createTokenVerifier({ issuers: () => [remote], clock, remembered: 10 })
    const check = () => reasonOf(() => verifier.verify(token, accessProfile, edgeAudience))
    await verifier.verify(token, accessProfile, edgeAudience)
    kids = ['k2']
    expect(check()).toBe('accepted')
    expect(getJson).toHaveBeenCalledTimes(2)
    clock.advance(600_001)
    for (let at = 0; at < 5; at++) expect(check()).toBe('accepted')
    await remote.refresh()
    expect(getJson).toHaveBeenCalledTimes(4)
    await expect(verifier.verify(token, accessProfile, edgeAudience)).rejects.toMatchObject({
      reason: 'token_untrusted',
    })
  })

  it('say why there are none: an issuer that is away, calls itself something else, or has no keys', async () => {
    const { clock } = make()
    const outcomes: unknown[] = []
    const answers: (() => unknown)[] = [
      () => {
        throw new Error('away')
      },
      () => ({
        issuer: 'https://other.example',
        jwks_uri: `${issuer}/jwks`,
        token_endpoint: `${issuer}/token`,
      }),
      () => 'no metadata',
    ]
    const remote = createRemoteIssuer({
      issuer,
      clock,
      getJson: async () => answers[outcomes.length]!(),
      onOutcome: (cause) => void outcomes.push(cause),
    })
    for (let at = 0; at < 3; at++) expect(await remote.refresh()).toBe(false)
    expect(outcomes.map((cause) => (cause as Error).message)[0]).toBe('away')
    expect((outcomes[1] as Error).message).toContain('calls itself https://other.example')
    expect(outcomes[2]).toBeInstanceOf(Error)
  })

  it('are passed on again with the next fetch if they could not be stored', async () => {
    const { clock } = make()
    const onChange = vi.fn(async () => Promise.reject(new Error('full')))
    const remote = createRemoteIssuer({ issuer, clock, getJson: serve(() => ['k1']), onChange })
    await remote.refresh()
    await remote.refresh()
    expect(onChange).toHaveBeenCalledTimes(2)
    onChange.mockResolvedValue(undefined as never)
    await remote.refresh()
    clock.advance(60_000)
    await remote.refresh()
    expect(onChange).toHaveBeenCalledTimes(3)
  })

  it('of the stored set are not passed on again, and neither are the same ones', async () => {
    const { clock } = make()
    const getJson = serve(() => ['k1'])
    const onChange = vi.fn()
    const remote = createRemoteIssuer({ issuer, clock, getJson, onChange, stored: { keys: [jwkOf('k1')] } })
    expect(await remote.refresh()).toBe(true)
    expect(onChange).not.toHaveBeenCalled()
    const fresh = createRemoteIssuer({ issuer, clock, getJson, onChange })
    for (let at = 0; at < 2; at++) expect(await fresh.refresh()).toBe(true)
    expect(onChange).toHaveBeenCalledTimes(1)
  })

  it('are here also if no listener wants them', async () => {
    const { clock } = make()
    const remote = createRemoteIssuer({ issuer, clock, getJson: serve(() => ['k1']) })
    expect(await remote.refresh()).toBe(true)
    expect(remote.findKey('k1')).toBeDefined()
  })

  it('are not passed on again if newer ones were stored before the older ones failed', async () => {
    const { clock } = make()
    let kids = ['k1']
    let failFirst = (_: Error): void => undefined
    const onChange = vi.fn(async (): Promise<void> => undefined)
    onChange.mockImplementationOnce(() => new Promise<void>((_, reject) => (failFirst = reject)))
    const remote = createRemoteIssuer({ issuer, clock, getJson: serve(() => kids), onChange })
    await remote.refresh()
    kids = ['k2']
    await remote.refresh()
    failFirst(new Error('full'))
    await new Promise((resolve) => setImmediate(resolve))
    await remote.refresh()
    expect(onChange).toHaveBeenCalledTimes(2)
  })

  it('are fetched once for all that ask meanwhile, and the last outcome counts until the next fetch', async () => {
    const { clock } = make()
    const getJson = serve(() => ['k1'])
    const remote = createRemoteIssuer({ issuer, clock, getJson })
    expect(await Promise.all(Array.from({ length: 10 }, () => remote.refresh()))).not.toContain(false)
    expect(getJson.mock.calls.length / 2).toBe(1)
    for (let at = 0; at < 10; at++) expect(await remote.refresh()).toBe(true)
    expect(getJson.mock.calls.length / 2).toBe(3)
    getJson.mockRejectedValue(new Error('away'))
    clock.advance(10_000)
    for (let at = 0; at < 3; at++) expect(await remote.refresh()).toBe(false)
  })

  it('are fetched again by their use after ten minutes, and not by that of unknown ones', async () => {
    const { clock } = make()
    const getJson = serve(() => ['k1'])
    const remote = createRemoteIssuer({ issuer, clock, getJson })
    await remote.refresh()
    clock.advance(600_000)
    remote.findKey('k1')
    expect(getJson).toHaveBeenCalledTimes(2)
    clock.advance(1)
    remote.findKey('k2')
    expect(getJson).toHaveBeenCalledTimes(2)
    remote.findKey('k1')
    expect(getJson).toHaveBeenCalledTimes(3)
  })

  it('are in the log with their issuer and the cause, every ten minutes', () => {
    const log = createMemoryLog()
    let now = 1000
    const note = logOutcome(issuer, log, () => now)
    note(undefined)
    expect(log.lines).toEqual([])
    note(new Error('away'))
    expect(log.lines.at(-1)).toContain(issuer)
    expect(log.lines.at(-1)).toContain('away')
    now += 599_999
    note(new Error('away'))
    expect(log.lines).toHaveLength(1)
    now += 1
    note(new Error('away'))
    expect(log.lines).toHaveLength(2)
    note(undefined)
    expect(log.lines.at(-1)).toContain('the keys of an issuer are here again')
    expect(log.lines.at(-1)).toContain(issuer)
    note(new Error('away'))
    expect(log.lines).toHaveLength(4)
  })

  it('are in the log once while they are missing, and once when they are back', () => {
    const log = createMemoryLog()
    let now = 0
    const note = logOutcome(issuer, log, () => now)
    for (let at = 0; at < 50; at++) note(new Error('away'))
    expect(log.lines).toHaveLength(1)
    now += 600_000
    note(new Error('away'))
    note(undefined)
    note(undefined)
    expect(log.lines).toHaveLength(3)
  })

  it('are in the log every ten minutes of the monotonic clock of the process', () => {
    const log = createMemoryLog()
    const monotonic = vi.spyOn(performance, 'now').mockReturnValue(1000)
    const note = logOutcome(issuer, log)
    note(new Error('away'))
    monotonic.mockReturnValue(600_999)
    note(new Error('away'))
    expect(log.lines).toHaveLength(1)
    monotonic.mockReturnValue(601_000)
    note(new Error('away'))
    monotonic.mockRestore()
    expect(log.lines).toHaveLength(2)
  })

  it('are not fetched for every stranger’s token', async () => {
    const { clock } = make()
    const getJson = serve(() => ['k1'])
    const remote = createRemoteIssuer({ issuer, clock, getJson })
    for (let at = 0; at < 100; at++) await remote.refresh()
    expect(getJson.mock.calls.length / 2).toBe(3)
    clock.advance(10_000)
    for (let at = 0; at < 100; at++) await remote.refresh()
    expect(getJson.mock.calls.length / 2).toBe(4)
  })

  it('of a service with another name are not accepted', async () => {
    const { clock } = make()
    const getJson = async (url: string) =>
      url.endsWith('/jwks')
        ? { keys: [jwkOf('k1')] }
        : { issuer: 'https://evil.example', jwks_uri: `${issuer}/jwks`, token_endpoint: '' }
    const remote = createRemoteIssuer({ issuer, clock, getJson })
    expect(await remote.refresh()).toBe(false)
    expect(remote.findKey('k1')).toBeUndefined()
  })
})
