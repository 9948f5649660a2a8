/** What is sent and read in the name of one account is in a session of that account, whenever the device changes hands. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AuthorizeRequest, type DiscoveryClient, OAuthFailure } from '@selvedge/client'
import { discoveryReportSeconds, type SessionRequest } from '@selvedge/protocol'
import { discoveryAudience, openProof, publicJwk } from '@selvedge/protocol/tokens'
import { createLearned, openDocument } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { createSessionKeeper, signJws } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { NodeKey } from '../node/node-key.ts'
import { initialState, type StateStore, stateFormat } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'
import { waitLimitMs } from '../time-limits.ts'
import { createDiscoverySession } from './discovery-session.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
const tokenOf = (accountId: string) =>
  signJws({ typ: 'edge-id+jwt', kid: 'k' }, { sub: accountId }, privateKey)

let folder: string
let state: StateStore
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'session-'))
  const initial = { ...initialState, accountId: 'a' }
  state = await openDocument(join(folder, 'state'), { ...stateFormat, initial })
})
afterEach(async () => {
  await state.close()
  rmSync(folder, { recursive: true })
})
const changeHands = (accountId: string) => state.update((value) => ({ ...value, accountId }))

/** A session with a service that knows the device by the account of the token that it shows. */
function open() {
  const time = createFakeClock()
  const clock = { ...time, monotonic: () => time.now() } as unknown as DeviceClock
  const keeper = createSessionKeeper(Buffer.alloc(32, 1), clock)
  const service = {
    /** Account of the tokens that the identity service issues. */
    accountId: 'a',
    /** Called while the device waits for the token, and for the answer to a new session. */
    whileTokenComes: async (): Promise<unknown> => undefined,
    whileAnswerComes: async (): Promise<unknown> => undefined,
    begun: 0,
    proofs: [] as string[],
    hasAccountKey: true,
    /** Arguments of each request for a token, and `forget`. */
    tokens: [] as unknown[],
  }
  const late: string[] = []
  const session = createDiscoverySession({
    link: { failed: (error) => late.push(error) },
    url: 'http://127.0.0.1',
    client: {
      async beginSession(
        request: SessionRequest,
        token: string,
        prove: (nonce: string, body: string) => string,
      ) {
        const { key } = request
        service.proofs.push(prove('nonce', 'body'))
        service.begun++
        const { sub } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
        await service.whileAnswerComes()
        const { ticket, sessionKey, seal } = keeper.begin(key, Buffer.from(sub), 600)
        const account_key = service.hasAccountKey ? seal(Buffer.from(`key of ${sub}`)) : 'x'
        return {
          ticket,
          key: keeper.jwk,
          session_key: sessionKey,
          account_key,
          expires_in: 600,
          report_within: 60,
        }
      },
    } as unknown as DiscoveryClient,
    key: { signing: { privateKey, jwk } } as unknown as NodeKey,
    tokens: {
      async get(...of: unknown[]) {
        service.tokens.push(of)
        const token = tokenOf(service.accountId)
        await service.whileTokenComes()
        return token
      },
      forget: () => service.tokens.push('forget'),
    } as never,
    state,
    learned: createLearned(state, { where: 'test.learned', log: createMemoryLog() }),
    clock,
    addresses: () => [],
    services: () => [],
  })
  /** The account of a request, as the service sees it. */
  const accountOf = (authorize: AuthorizeRequest): string => {
    const authorization = authorize('GET', '/v1/nodes', '')
    return keeper.check({ authorization, method: 'GET', path: '/v1/nodes', body: '' }).content.toString()
  }
  const ask = () =>
    session
      .use('background', async (authorize) => accountOf(authorize))
      .catch(({ reason }) => reason as string)
  return { service, session, ask, accountOf, late, time }
}

it('comes late: a local caller waits a few seconds, and work of the background has it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { service, session, accountOf, late } = open()
    const token = Promise.withResolvers<void>()
    service.whileTokenComes = () => token.promise
    const work = async (authorize: AuthorizeRequest) => accountOf(authorize)
    const background = session.use('background', work)
    const caller = session.use('caller', work)
    const refused = expect(caller).rejects.toMatchObject({ reason: 'timeout' })
    await vi.advanceTimersByTimeAsync(waitLimitMs)
    await refused
    expect(late).toEqual([])
    token.resolve()
    expect([await background, await session.use('caller', work), service.begun]).toEqual(['a', 'a', 1])
  } finally {
    vi.useRealTimers()
  }
})

it('is used again for the same account, and not for the next one', async () => {
  const { service, ask } = open()
  expect([await ask(), await ask(), service.begun]).toEqual(['a', 'a', 1])
  await changeHands('b')
  service.accountId = 'b'
  expect([await ask(), await ask(), service.begun]).toEqual(['b', 'b', 2])
})

it('does not begin with a token of another account', async () => {
  const { service, ask } = open()
  service.accountId = 'b'
  expect([await ask(), service.begun]).toEqual(['discovery_unavailable', 0])
})

it('of the next account does nothing for the former one that waited for it', async () => {
  const { service, ask } = open()
  service.accountId = 'b'
  service.whileTokenComes = () => changeHands('b')
  expect(await ask()).toBe('wrong_account')
})

it('of the former account does nothing for the next one that waited for it', async () => {
  const { service, ask } = open()
  const answer = Promise.withResolvers<void>()
  service.whileAnswerComes = () => answer.promise
  const former = ask()
  while (service.begun === 0) await new Promise(setImmediate)
  await changeHands('b')
  const next = ask()
  answer.resolve()
  expect([await former, await next]).toEqual(['wrong_account', 'wrong_account'])
  expect(state.value.accountKey).toBeNull()
})

it('is not begun again, for what the former account had wanted, in the name of the next one', async () => {
  const { service, session, accountOf } = open()
  const seen: string[] = []
  const work = async (authorize: AuthorizeRequest) => {
    seen.push(accountOf(authorize))
    await changeHands('b')
    service.accountId = 'b'
    throw new OAuthFailure('invalid_token', 'begin another session', 401)
  }
  await expect(session.use('caller', work)).rejects.toMatchObject({ reason: 'wrong_account' })
  expect(seen).toEqual(['a'])
})

it('brings the key of announcements for its own account alone', async () => {
  const { service, ask } = open()
  expect(await ask()).toBe('a')
  expect(state.value.accountKey).toMatchObject({ accountId: 'a' })
  await state.update((value) => ({ ...value, accountId: '', accountKey: null }))
  await changeHands('b')
  service.accountId = 'b'
  let change: Promise<unknown> | undefined
  service.whileAnswerComes = async () => {
    // It is not on the disk yet when the answer comes.
    change = changeHands('c')
  }
  await ask()
  await change
  expect(state.value).toMatchObject({ accountId: 'c', accountKey: null })
})

it('begins with a token of the background and a proof of the device for this request', async () => {
  const { service, ask } = open()
  await ask()
  expect(service.tokens).toEqual([[discoveryAudience, 'background']])
  expect(openProof(service.proofs[0]!).jws.payload).toMatchObject({
    ...{ htm: 'POST', htu: 'http://127.0.0.1/v1/sessions', nonce: 'nonce' },
    ...{ ath: expect.any(String), bh: expect.any(String) },
  })
})

it('is used until half a minute before its end', async () => {
  const { service, ask, time } = open()
  await ask()
  time.advance(569_999)
  expect([await ask(), service.begun]).toEqual(['a', 1])
  time.advance(1)
  expect([await ask(), service.begun]).toEqual(['a', 2])
})

it('begins again when something that was stated has changed, also while it was requested', async () => {
  const { service, session, ask } = open()
  await ask()
  session.restate()
  expect([await ask(), service.begun]).toEqual(['a', 2])
  session.restate()
  const answer = Promise.withResolvers<void>()
  service.whileAnswerComes = () => answer.promise
  const before = ask()
  while (service.begun === 2) await new Promise(setImmediate)
  session.restate()
  const after = ask()
  while (service.begun === 3) await new Promise(setImmediate)
  answer.resolve()
  expect([await before, await after, service.begun]).toEqual(['a', 'a', 4])
  expect([await ask(), service.begun]).toEqual(['a', 4])
})

it('has the interval of reports that the service sent last', async () => {
  const { session, ask } = open()
  expect(session.reportWithin()).toBe(discoveryReportSeconds * 1000)
  await ask()
  expect(session.reportWithin()).toBe(60_000)
})

it.each([
  ['invalid_token', 2],
  ['invalid_request', 1],
] as const)('that is refused with %s is tried %i times', async (reason, times) => {
  const { service, session } = open()
  let tries = 0
  const work = async () => {
    tries++
    throw new OAuthFailure(reason, 'refused', 400)
  }
  await expect(session.use('caller', work)).rejects.toMatchObject({ reason })
  expect([tries, service.begun, service.tokens.includes('forget')]).toEqual([times, times, times === 2])
  const defect = Object.assign(new Error('a defect'), { reason: 'invalid_token' })
  await expect(session.use('caller', () => Promise.reject(defect))).rejects.toBe(defect)
  expect(service.begun).toBe(times)
})

it('without a key of announcements is a session, and the same key is not stored again', async () => {
  const { service, session, ask } = open()
  service.hasAccountKey = false
  expect([await ask(), state.value.accountKey]).toEqual(['a', null])
  service.hasAccountKey = true
  session.restate()
  await ask()
  await expect.poll(() => state.value.accountKey).not.toBeNull()
  const stored = state.value
  session.restate()
  await ask()
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  expect(state.value).toBe(stored)
})
