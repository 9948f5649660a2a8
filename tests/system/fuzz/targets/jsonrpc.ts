import { type Method, methods, RpcError } from '@selvedge/protocol'
import { createDispatcher } from '@selvedge/protocol/jsonrpc'
import { mutateJson } from '../engine/mutate-json.ts'
import { expectThat, type Target } from '../engine/target.ts'

const call = (method: string, params: unknown, id: unknown = 1) => ({ jsonrpc: '2.0', method, params, id })
const calls = [
  call('getMe', ['']),
  call('updateGps', { edgeAccessToken: 'a.b.c', longitude: 1, latitude: 2, speed: 3, bearing: 4 }),
  call('getNodes', { type: 'linkLocal', edgeAccessToken: 'a.b.c' }),
  call('deployContainer', {
    edgeAccessToken: 'a.b.c',
    spec: { name: 'web', image: 'sha256:0', env: { 'MCM.BASE_API_PATH': '/web/v1', MODE: 'x' } },
  }),
  call('getEdgeIdToken', null, 'text'),
  call('unknown', {}, null),
]

/** The dispatcher with every method of the local API; the handlers give back what they got. */
export const jsonrpc: Target = {
  name: 'jsonrpc',
  covers: [
    'packages/protocol/src/jsonrpc/dispatcher.ts',
    'packages/protocol/src/methods/read-params.ts',
    'packages/protocol/src/mcm/settings.ts',
  ],
  seeds: () =>
    [...calls, calls, Array(40).fill(calls).flat().slice(0, 90)].map((each) =>
      Buffer.from(JSON.stringify(each)),
    ),
  mutators: [mutateJson],
  words: Object.keys(methods).map((name) => JSON.stringify(name)),
  open: () => {
    const handlers = Object.keys(methods).map((name) => [name, (params: object) => params] as const)
    const dispatcher = createDispatcher<Record<string, Method>, { anyone: unknown; token: unknown }, object>({
      methods,
      handlers: Object.fromEntries(handlers),
      checks: { anyone: () => undefined, token: () => undefined },
      onInternalError: (method, cause) => {
        throw new Error(`internal error in ${method}`, { cause })
      },
      mirror: false,
      limits: { depth: 32, batch: 100 },
    })
    const expectAnswer = (answer: string | undefined): string => {
      if (answer === undefined) return 'nothing'
      const read = JSON.parse(answer)
      for (const each of Array.isArray(read) ? read : [read])
        expectThat(each.jsonrpc === '2.0' && 'result' in each !== 'error' in each, 'it is no JSON-RPC answer')
      return Array.isArray(read) ? 'batch' : (read.error?.message ?? 'result')
    }
    return {
      parse(input) {
        try {
          const answer = dispatcher.dispatch(input.toString(), {})
          return answer instanceof Promise ? answer.then(expectAnswer) : expectAnswer(answer)
        } catch (cause) {
          expectThat(!(cause instanceof RpcError), 'the dispatcher threw a refusal instead of answering')
          throw cause
        }
      },
    }
  },
}
