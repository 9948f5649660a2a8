import { type Methods, methods } from '@selvedge/protocol'
import { createRpcClient, type RpcClient, type RpcConnection } from './rpc.ts'

export type RuntimeClient = RpcClient<Methods>

/**
 * A client of the local API of a runtime: one function for each method. Calls fail with `RpcFailure` or `ConnectionFailure`.
 *
 * @example
 * ```ts
 * import { createRuntimeClient } from '@selvedge/client'
 *
 * const runtime = createRuntimeClient({ url: 'http://127.0.0.1:8083' })
 * const { nodeId } = await runtime.getMe()
 * console.log(nodeId)
 * ```
 */
export const createRuntimeClient = (connection: RpcConnection): RuntimeClient =>
  createRpcClient(methods, connection)
