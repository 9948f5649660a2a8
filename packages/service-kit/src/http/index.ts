/** Listeners, the guard that keeps web pages out, and JSON-RPC over HTTP. It knows no method. */
export { addressOf, limitKeyOf } from './address.ts'
export { readBody } from './body.ts'
export { getJson } from './get-json.ts'
export { createGuard, type GuardOptions, isJsonType, readGuardedHeaders } from './guard.ts'
export { createLimiter, type Limiter, type Rate, takeOrRefuse } from './limiter.ts'
export { ListenError, type Listener, type Listening, listenTcp, listenUnix } from './listen.ts'
export { type CallContext, createRpcListener, type RpcListenerOptions } from './rpc-listener.ts'
export { sendJson } from './send-json.ts'
