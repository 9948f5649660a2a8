/** Access of one client to one node, which continues while the node cannot reach its identity service. */
import type { TokenResponse } from '@selvedge/protocol'
import { ConnectionFailure, OAuthFailure, RpcFailure } from './errors.ts'
import { createIdentityClient } from './identity.ts'
import { createNonceSource, exchangeLease } from './local-token.ts'
import type { ProofKey } from './proof-key.ts'
import type { RpcConnection } from './rpc.ts'
import { createRuntimeClient, type RuntimeClient } from './runtime.ts'
import type { Connection, Fetch } from './send.ts'

/** What a program stores between two starts, beside its key. */
export interface StoredEdgeSession {
  readonly refreshToken?: string | undefined
  readonly lease?: string | undefined
}

export interface EdgeSessionOptions {
  /** The identity service; the URL is its issuer. */
  readonly identity: Connection
  readonly runtime: RpcConnection
  readonly clientId: string
  /** Scopes, separated by spaces. With `offline_access`, the session continues with refresh tokens. */
  readonly scope: string
  /** The key of the program. Tokens and leases are bound to it: store it with the session. */
  readonly key: ProofKey
  /** Begins the session; not needed while there is a valid refresh token or lease. */
  readonly developerIdToken?: string
  readonly stored?: StoredEdgeSession
  /** Called before new credentials are used: a refresh token works once. If it rejects, `access` does, too. */
  readonly onChange?: (stored: StoredEdgeSession) => void | Promise<void>
  /** Unix milliseconds. */
  readonly now?: () => number
}

/** A valid token, and what sends it. */
export interface EdgeAccess {
  readonly accessToken: string
  /** Whether the runtime issued it for a lease. */
  readonly isLocal: boolean
  /** Unix milliseconds by the clock of this machine. */
  readonly expiresAt: number
  /** Calls the runtime with proofs for this token. Give `accessToken` as `edgeAccessToken`. */
  readonly runtime: RuntimeClient
  /** The headers of a request to a service of the node. @param url whole URL */
  headers(method: string, url: string): Promise<{ Authorization: string; DPoP: string }>
}

export interface EdgeSession {
  /**
   * A token that is valid for at least half a minute: of the identity service, or of the runtime while that is not reachable.
   *
   * @throws OAuthFailure | ConnectionFailure | RpcFailure
   */
  access(): Promise<EdgeAccess>
  /** Drops the token, for example after the runtime refused it because it was started again. */
  forget(): void
}

/** Milliseconds: a token that expires within this time is replaced; between two attempts to reach the identity service again. */
const times = { marginMs: 30_000, retryMs: 60_000 }

/**
 * Keeps a token for a node. While the identity service cannot be reached, it exchanges its lease at the runtime; when it can, it
 * refreshes.
 *
 * @example
 * ```ts
 * import { createEdgeSession, createProofKey } from '@selvedge/client'
 *
 * const session = createEdgeSession({
 *   identity: { url: 'http://localhost:8084' },
 *   runtime: { url: 'http://127.0.0.1:8083' },
 *   clientId: process.env.CLIENT_ID!,
 *   scope: 'openid edge:mcm',
 *   key: await createProofKey(),
 *   developerIdToken: process.env.DEVELOPER_ID_TOKEN!,
 * })
 * const { runtime, accessToken, isLocal } = await session.access()
 * console.log(isLocal, await runtime.getContainers({ edgeAccessToken: accessToken }))
 * ```
 */
export function createEdgeSession(options: EdgeSessionOptions): EdgeSession {
  const { key, runtime: connection, onChange, now = Date.now } = options
  const runtime = createRuntimeClient(connection)
  const nonce = createNonceSource(connection)
  const fromIdentity = createIdentitySource(options, runtime)
  let stored: StoredEdgeSession = options.stored ?? {}
  let current: EdgeAccess | undefined
  let running: Promise<EdgeAccess> | undefined
  let triedAt = Number.NEGATIVE_INFINITY

  async function accept(answer: TokenResponse): Promise<EdgeAccess> {
    const { lease, refresh_token: refreshToken = stored.refreshToken } = answer
    if (lease !== stored.lease || refreshToken !== stored.refreshToken) {
      await onChange?.({ refreshToken, lease })
      stored = { refreshToken, lease }
    }
    return accessWith(answer, false)
  }

  function accessWith(
    { access_token: accessToken, expires_in }: TokenResponse,
    isLocal: boolean,
  ): EdgeAccess {
    const prove = async (method: string, url: string) =>
      key.prove({ method, url, accessToken, nonce: await nonce() })
    current = {
      accessToken,
      isLocal,
      expiresAt: now() + expires_in * 1000,
      runtime: createRuntimeClient({ ...connection, fetch: proving(connection.fetch, prove) }),
      headers: async (method, url) => ({
        Authorization: `DPoP ${accessToken}`,
        DPoP: await prove(method, url),
      }),
    }
    return current
  }

  async function refresh(): Promise<EdgeAccess> {
    triedAt = performance.now()
    return accept(await fromIdentity(stored))
  }

  async function renew(): Promise<EdgeAccess> {
    try {
      return await refresh()
    } catch (cause) {
      const { lease } = stored
      if (lease === undefined || !isAway(cause)) throw cause
      const { offline } = await runtime.getMe()
      const { tokenEndpoint } = offline
      return accessWith(await exchangeLease(connection, { lease, key, tokenEndpoint }), true)
    }
  }

  function share(work: () => Promise<EdgeAccess>): Promise<EdgeAccess> {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }

  return {
    async access() {
      if (!current || current.expiresAt - now() < times.marginMs) return share(renew)
      // The local token serves meanwhile.
      if (current.isLocal && performance.now() - triedAt >= times.retryMs)
        share(refresh).catch(() => undefined)
      return current
    },
    forget() {
      current = undefined
    },
  }
}

/** Gets tokens from the identity service: with the refresh token, or with the developer ID token. */
function createIdentitySource(options: EdgeSessionOptions, node: RuntimeClient) {
  const { clientId, developerIdToken, scope, key } = options
  const identity = createIdentityClient(options.identity)
  return async ({ refreshToken }: StoredEdgeSession): Promise<TokenResponse> => {
    if (refreshToken !== undefined) return identity.refresh({ clientId, refreshToken, key })
    if (developerIdToken === undefined)
      throw new ConnectionFailure('refused', 'the session has no refresh token and no developer ID token')
    const { id_token: edgeIdToken } = await node.getEdgeIdToken()
    return identity.exchange({ clientId, developerIdToken, edgeIdToken, scope, key })
  }
}

/** Adds a proof to each request. */
const proving =
  (fetch: Fetch = globalThis.fetch, prove: (method: string, url: string) => Promise<string>): Fetch =>
  async (url, init) =>
    fetch(url, {
      ...init,
      redirect: 'error',
      headers: { ...init.headers, DPoP: await prove(init.method, url) },
    })

/** Whether a failure means that the identity service could not be reached, and not that it refused. */
export function isAway(cause: unknown): boolean {
  if (cause instanceof RpcFailure) return cause.reason === 'identity_unavailable'
  if (cause instanceof OAuthFailure) return cause.status >= 500
  return cause instanceof ConnectionFailure && cause.reason !== 'aborted'
}
