/** The local token of a command that works on a lease, and the proofs that its requests to the runtime need. */
import { createNonceSource, type Fetch, type ProofKey, type RpcConnection } from '@selvedge/client'

/** Signs a proof for one request with the local token. @param url whole URL */
type Prove = (method: string, url: string) => Promise<string>

export interface BoundToken {
  /** From now on, requests to the runtime carry proofs for this token. @param scheme of the proofs, whatever way they take */
  use(token: string, key: ProofKey, scheme: string): void
  /** Undefined while the command has a token of the identity service. */
  prove(): Prove | undefined
  /** The same connection, with proofs while there is a local token. */
  connect(connection: RpcConnection): RpcConnection
}

export function createBoundToken(): BoundToken {
  let nonce = async (): Promise<string | undefined> => undefined
  let prove: Prove | undefined
  return {
    use(accessToken, key, scheme) {
      prove = async (method, url) => {
        const proven = new URL(url)
        proven.protocol = scheme
        return key.prove({ method, url: proven.href, accessToken, nonce: await nonce() })
      }
    },
    prove: () => prove,
    connect(connection) {
      nonce = createNonceSource(connection)
      const fetch: Fetch = async (url, init) => {
        const own = connection.fetch ?? globalThis.fetch
        // The exchange of a lease has a proof of its own.
        if (!prove || init.headers.DPoP !== undefined) return own(url, init)
        return own(url, { ...init, headers: { ...init.headers, DPoP: await prove(init.method, url) } })
      }
      return {
        get url() {
          return connection.url
        },
        get apiKey() {
          return connection.apiKey
        },
        fetch,
      } as RpcConnection
    },
  }
}
