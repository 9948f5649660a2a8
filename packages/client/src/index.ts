/**
 * Typed clients of the three Selvedge services, for any modern JavaScript runtime and for browsers. It knows the contract and
 * nothing of how a service works.
 */
export {
  type AuthorizeRequest,
  createDiscoveryClient,
  type DiscoveryClient,
  type NodesQuery,
} from './discovery.ts'
export {
  createEdgeSession,
  type EdgeAccess,
  type EdgeSession,
  type EdgeSessionOptions,
  isAway,
  type StoredEdgeSession,
} from './edge-session.ts'
export { ConnectionFailure, isSelvedgeError, OAuthFailure, RpcFailure, type SelvedgeError } from './errors.ts'
export { createIdentityClient, type Exchange, type IdentityClient, type Prove } from './identity.ts'
export { createNonceSource, exchangeLease, type LeaseExchange } from './local-token.ts'
export { createProofKey, type PrivateJwk, type ProofKey, type ProofRequest } from './proof-key.ts'
export { callRpc, createRpcClient, type MethodTable, type RpcClient, type RpcConnection } from './rpc.ts'
export { createRuntimeClient, type RuntimeClient } from './runtime.ts'
export type { CallOptions, Connection, Fetch } from './send.ts'
