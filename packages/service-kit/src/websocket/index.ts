/** JSON-RPC over WebSocket, beside HTTP: the same dispatcher, checks and limits. It knows no method. */
export { createRpcSockets, type RpcSockets, type RpcSocketsOptions } from './rpc-sockets.ts'
