import { callRpc, RpcFailure } from '@selvedge/client'
import { methods } from '@selvedge/protocol'
import { closest } from '../closest.ts'
import { command } from '../command.ts'
import { UsageError } from '../failure.ts'

/** A single argument that is a JSON object or array holds all parameters; otherwise each argument is one string. */
function readParams(args: readonly string[]): object {
  const [only] = args
  if (args.length !== 1 || only === undefined || !/^[{[]/.test(only)) return [...args]
  try {
    return JSON.parse(only) as object
  } catch (cause) {
    throw new UsageError(
      `the parameters are not JSON: ${(cause as Error).message}`,
      'Quote them for the shell: selvedge call getMe \'[""]\'',
    )
  }
}

export const call = command({
  path: ['call'],
  summary: 'Call any method: parameters as strings, or all of them as one JSON array or object.',
  args: [
    { name: '<method>', description: 'name of the method, such as getMe' },
    { name: '[params...]', description: 'its parameters, in their order' },
  ],
  examples: ['selvedge call getMe', 'selvedge call rpc.discover'],
  run: async ({ runtimeConnection }, { args: [method = '', ...params] }) => {
    try {
      return await callRpc(runtimeConnection, method, readParams(params))
    } catch (cause) {
      const meant = closest(method, Object.keys(methods))
      const isUnknown = cause instanceof RpcFailure && cause.reason === 'method_not_found'
      if (!isUnknown || meant === undefined || meant === method) throw cause
      throw new UsageError(`${cause.message} (${cause.reason})`, `Did you mean "selvedge call ${meant}"?`)
    }
  },
  prints: 'json',
})
