/** Which tokens and refusals are counted, under which names. */
import { OAuthError, oauthErrors } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { measureTokens } from './measure-tokens.ts'

const counted: string[] = []
const declared: Record<string, unknown> = {}
let waiting: () => Record<string, number>
const metrics = {
  counter: (name: string, _: string, labels: object) => {
    declared[name] = labels
    return { count: (...values: string[]) => void counted.push(`${name} ${values.join(' ')}`) }
  },
  gauges: (name: string, _: string, labels: object, read: typeof waiting) => {
    declared[name] = labels
    waiting = read
  },
} as never

let failure: Error | undefined
const work = async <T>(result: T): Promise<T> => {
  if (failure) throw failure
  return result
}
const endpointDone = Promise.withResolvers<void>()
const hooks: ((...of: never[]) => void)[] = []
const measured = measureTokens(metrics, {
  grants: ['one', 'two'].map(
    (grantType) =>
      ({ grantType, answer: (form: string, caller: string) => work(`${form} ${caller}`) }) as never,
  ),
  edgeMint: { lifetimeSeconds: 7, idToken: (grounds: string) => work(grounds) } as never,
  storeUnderWay: () => 3,
})

it('the names of all that is counted are known before', () => {
  expect(declared).toEqual({
    selvedge_tokens_issued_total: { grant: ['one', 'two', 'edge_id_token'] },
    selvedge_tokens_refused_total: { endpoint: ['token', 'edge_id_token'], reason: Object.keys(oauthErrors) },
    selvedge_queue_length: { queue: ['tokens', 'store'] },
  })
})

it('an answer with a token is counted for its grant, and one without is not', async () => {
  const { grants, edgeMint } = measured
  expect(await grants[1]!.answer('form' as never, 'caller' as never)).toBe('form caller')
  expect(await edgeMint.idToken('grounds' as never)).toBe('grounds')
  expect([grants[0]!.grantType, edgeMint.lifetimeSeconds]).toEqual(['one', 7])
  failure = new Error('refused')
  await expect(grants[0]!.answer('form' as never, 'caller' as never)).rejects.toBe(failure)
  await expect(edgeMint.idToken('grounds' as never)).rejects.toBe(failure)
  failure = undefined
  expect(counted.splice(0)).toEqual([
    'selvedge_tokens_issued_total two',
    'selvedge_tokens_issued_total edge_id_token',
  ])
})

it('requests that wait for an answer are counted, and what the endpoint refuses', async () => {
  const endpoint = measured.tokenEndpoint({
    path: '/token',
    async answer(request: string) {
      if (request === 'slow') await endpointDone.promise
      if (request === 'refused') throw new OAuthError('invalid_grant', 'no')
      if (request === 'broken') throw new Error('a defect')
      return request
    },
  } as never)
  expect(endpoint.path).toBe('/token')
  const slow = endpoint.answer('slow' as never)
  expect(waiting()).toEqual({ tokens: 1, store: 3 })
  endpointDone.resolve()
  expect(await slow).toBe('slow')
  expect(waiting()).toEqual({ tokens: 0, store: 3 })
  await expect(endpoint.answer('refused' as never)).rejects.toMatchObject({ code: 'invalid_grant' })
  await expect(endpoint.answer('broken' as never)).rejects.toThrow('a defect')
  expect(counted.splice(0)).toEqual([
    'selvedge_tokens_refused_total token invalid_grant',
    'selvedge_tokens_refused_total token server_error',
  ])
})

it('refused edge ID tokens are counted by the route of their endpoint alone', () => {
  measured.edgeEndpoint({
    addHook: (name: string, hook: (...of: never[]) => void) => {
      expect(name).toBe('onError')
      hooks.push(hook)
    },
  } as never)
  let isDone = 0
  const fail = (url: string) =>
    hooks[0]!(
      { routeOptions: { url } } as never,
      {} as never,
      new OAuthError('access_denied', 'no') as never,
      (() => isDone++) as never,
    )
  fail('/edge/token')
  fail('/token')
  expect(counted).toEqual(['selvedge_tokens_refused_total edge_id_token access_denied'])
  expect(isDone).toBe(2)
})
