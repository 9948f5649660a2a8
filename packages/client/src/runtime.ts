import { type Methods, methods } from '@selvedge/protocol'
import { createRpcClient, type RpcClient, type RpcConnection } from './rpc.ts'

export type RuntimeClient = RpcClient<Methods>

/**
 * The local API of a runtime.
 *
 *     const runtime = createRuntimeClient({ url: 'http://127.0.0.1:8083' })
 *     const { nodeId } = await runtime.getMe()
 *
 * Calls fail with `RpcFailure` or `ConnectionFailure`.
 */
export const createRuntimeClient = (connection: RpcConnection): RuntimeClient =>
  createRpcClient(methods, connection)
