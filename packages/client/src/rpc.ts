import { type InputOf, type Method, type ResultOf, type RpcErrorObject, rpcPath } from '@selvedge/protocol'
import { ConnectionFailure, RpcFailure } from './errors.ts'
import { type CallOptions, type Connection, expectUrl, send } from './send.ts'

export type MethodTable = Readonly<Record<string, Method>>

type Arguments<M extends Method> = M['params'] extends readonly []
  ? [params?: Record<string, never>, options?: CallOptions]
  : Record<never, never> extends InputOf<M>
    ? [params?: InputOf<M>, options?: CallOptions]
    : [params: InputOf<M>, options?: CallOptions]

/** One function for each method: it accepts parameters by name, resolves with the result. */
export type RpcClient<Table extends MethodTable> = {
  readonly [Name in keyof Table]: (...args: Arguments<Table[Name]>) => Promise<ResultOf<Table[Name]>>
}

export interface RpcConnection extends Connection {
  /** The runtime's API key, if it requires one. */
  readonly apiKey?: string
  /** Path of the endpoint. Default: that of the local API. */
  readonly path?: string
}

/**
 * Calls one method by its name, for methods that are not in the table.
 *
 * @throws RpcFailure | ConnectionFailure
 *
 * @example
 * ```ts
 * import { callRpc } from '@selvedge/client'
 *
 * const result = await callRpc({ url: 'http://127.0.0.1:8083' }, 'getMe', undefined)
 * console.log(result)
 * ```
 */
export async function callRpc(
  connection: RpcConnection,
  method: string,
  params: object | undefined,
  options?: CallOptions,
): Promise<unknown> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' }
  if (connection.apiKey !== undefined) headers.Authorization = `Bearer ${connection.apiKey}`
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) })
  const path = connection.path ?? rpcPath
  const { status, json } = await send(connection, { method: 'POST', path, headers, body }, options)
  const answer = json as { result?: unknown; error?: RpcErrorObject & { reason?: string } } | undefined
  // An error of the method itself, with an additional HTTP status such as 429.
  if (isReadable(answer?.error?.data)) throw new RpcFailure(answer!.error!)
  if (status !== 200) {
    const { reason, message } = texts(answer?.error)
    throw new ConnectionFailure(
      'refused',
      `${connection.url} answered HTTP ${status}${reason ? ` (${reason})` : ''}: ${message ?? 'no reason given'}`,
      { status },
    )
  }
  if (answer?.result === undefined)
    throw new ConnectionFailure('bad_answer', `${connection.url} sent neither result nor error`, { status })
  return answer.result
}

/** Whether the error has the texts that callers show; another program at this address may send anything. */
function isReadable(data: unknown): boolean {
  const { reason, detail, hint } = texts(data)
  return [reason, detail, hint].every((each) => each !== undefined)
}

/** The members of an object that are texts. */
const texts = (object: unknown): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    Object.entries(Object(object)).filter(([, value]) => typeof value === 'string'),
  ) as Record<string, string>

/**
 * A typed client of a method table.
 *
 * @example
 * ```ts
 * import { createRpcClient } from '@selvedge/client'
 * import { methods } from '@selvedge/protocol'
 *
 * const { getMe } = methods
 * const client = createRpcClient({ getMe }, { url: 'http://127.0.0.1:8083' })
 * console.log((await client.getMe()).version)
 * ```
 */
export function createRpcClient<Table extends MethodTable>(
  table: Table,
  connection: RpcConnection,
): RpcClient<Table> {
  expectUrl(connection)
  const client: Record<string, unknown> = {}
  for (const name of Object.keys(table)) {
    const { name: method, timeoutMs } = table[name]!
    const timeout = timeoutMs !== undefined && { timeoutMs }
    client[name] = async (params?: object, options?: CallOptions) =>
      callRpc({ ...timeout, ...connection }, method, params, options)
  }
  return client as RpcClient<Table>
}
