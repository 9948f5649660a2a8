/** What a service gets of a request that was admitted, and when the answer ends. */
import type { IncomingMessage } from 'node:http'
import { RpcError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import type { LastingAnswer } from '../../device/tokens/lasting.ts'
import type { Running } from '../containers/instances.ts'
import type { Admitted } from './admit.ts'
import { passageOf } from './passage.ts'
import type { Target } from './target.ts'

function make({
  headers = {},
  socket = {},
  settings = {},
  caller,
  plan = { content: { kind: 'function' }, settings: {} },
  isOfEvents,
  account = () => 'a',
}: {
  headers?: Record<string, string>
  socket?: object
  settings?: object
  caller?: object
  plan?: object
  isOfEvents?: boolean
  account?: () => string
} = {}) {
  const watched: LastingAnswer[] = []
  const admitted: unknown[][] = []
  const overran: unknown[] = []
  const running = { plan } as unknown as Running
  const route = {
    container: { accountId: 'a' },
    settings: {
      'MCM.MAX_EXECUTION_TIME_SEC': 3,
      'MCM.FORWARD_TOKEN': false,
      'MCM.PAGES': 'open',
      ...settings,
    },
    service: { overran: async (each: unknown) => void overran.push(each) },
  }
  const rawHeaders = Object.entries({ host: 'device', ...headers }).flat()
  const passage = passageOf(
    {
      admit: async (...each: unknown[]) => void admitted.push(each),
      lasting: {
        watch(answer: LastingAnswer) {
          watched.push(answer)
          return () => undefined
        },
      },
      accountId: account,
    } as unknown as Parameters<typeof passageOf>[0],
    { headers, rawHeaders, method: 'GET', url: '/c/web/a?b', socket } as unknown as IncomingMessage,
    {
      match: { route, prefix: '/c/web', rest: '/a' },
      path: { path: '/c/web/a', query: '?b' },
      ...(isOfEvents !== undefined && { isOfEvents }),
    } as unknown as Target,
    caller as Admitted | undefined,
    running,
  )
  return { passage, watched, admitted, overran, running, route }
}
const fieldOf = (headers: readonly string[], name: string) => headers[headers.indexOf(name) + 1]

it('a service gets the rest of the path, the address of the client and the scheme', () => {
  const { passage } = make({ socket: { remoteAddress: '192.0.2.7' } })
  expect(passage.path).toBe('/a?b')
  expect(fieldOf(passage.headers, 'Forwarded')).toBe('for=192.0.2.7;host="device";proto=http')
  expect(fieldOf(passage.headers, 'X-Forwarded-Prefix')).toBe('/c/web')
  expect(passage.headers).toContain(passage.requestId)
  expect(passage.limitMs).toBe(3000)
  expect(passage).toMatchObject({
    isOfEvents: false,
    sandboxed: false,
    wantsTrailers: false,
    speaksHttp2: false,
  })
  expect(fieldOf(make({ socket: { encrypted: true } }).passage.headers, 'Forwarded')).toBe(
    'for=_local;host="device";proto=https',
  )
})

it('the token is forwarded only where the owner of the service allows it', () => {
  const headers = { authorization: 'Bearer t' }
  expect(make({ headers }).passage.headers).not.toContain('Bearer t')
  expect(make({ headers, settings: { 'MCM.FORWARD_TOKEN': true } }).passage.headers).toContain('Bearer t')
})

it.each([
  [{ settings: { 'MCM.PAGES': 'sandboxed' } }, { sandboxed: true }],
  [{ isOfEvents: true }, { isOfEvents: true }],
  [{ headers: { te: 'trailers' } }, { wantsTrailers: true }],
  [{ headers: { te: 'gzip' } }, { wantsTrailers: false }],
  [{ plan: { content: { kind: 'oci' }, settings: { 'MCM.PROTOCOL': 'h2c' } } }, { speaksHttp2: true }],
  [{ plan: { content: { kind: 'oci' }, settings: { 'MCM.PROTOCOL': 'http' } } }, { speaksHttp2: false }],
  [{ plan: { content: { kind: 'function' }, settings: { 'MCM.PROTOCOL': 'h2c' } } }, { speaksHttp2: false }],
])('%j makes %j', (given, expected) => expect(make(given).passage).toMatchObject(expected))

it('an answer ends when its caller is not allowed any more, or the account leaves', () => {
  let account = 'a'
  let isValid = true
  const caller = {
    expectStillValid() {
      if (!isValid) throw new RpcError('token_revoked', 'it was revoked')
    },
  }
  const { passage, watched } = make({ caller, account: () => account })
  passage.endWithCaller(() => undefined)
  const [answer] = watched
  answer!.expectAllowed()
  isValid = false
  expect(() => answer!.expectAllowed()).toThrow('it was revoked')
  isValid = true
  account = 'b'
  expect(() => answer!.expectAllowed()).toThrow(expect.objectContaining({ reason: 'not_associated' }))
})

it('of a public service only the account decides', () => {
  let account = 'a'
  const { passage, watched } = make({ account: () => account })
  passage.endWithCaller(() => undefined)
  watched[0]!.expectAllowed()
  account = ''
  expect(() => watched[0]!.expectAllowed()).toThrow(expect.objectContaining({ reason: 'not_associated' }))
})

it('is verified again by the same request', async () => {
  const { passage, watched, admitted, route } = make({ headers: { authorization: 'DPoP t', dpop: 'p' } })
  const ends: unknown[] = []
  passage.endWithCaller((cause) => ends.push(cause))
  await watched[0]!.verifyAgain()
  expect(admitted).toEqual([
    [route, expect.objectContaining({ shown: { scheme: 'DPoP', token: 't' }, dpop: 'p', path: '/c/web/a' })],
  ])
  const cause = new RpcError('token_revoked', 'x')
  watched[0]!.end(cause)
  expect(ends).toEqual([cause])
})

it('an instance that is too slow is reported to its service', async () => {
  const { passage, overran, running } = make()
  passage.onOverrun()
  await new Promise(setImmediate)
  expect(overran).toEqual([running])
})
