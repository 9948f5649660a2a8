/** Headers and tokens between the gateway and the services behind it. */

/** Headers in which the gateway names the caller to a service. It removes the same headers from requests from outside. */
export const callerHeaders = {
  account: 'X-Selvedge-Account',
  client: 'X-Selvedge-Client',
  scope: 'X-Selvedge-Scope',
  /** ID of the calling container, if the caller is a container. */
  container: 'X-Selvedge-Container',
  /** The person who calls a service with `MCM.ACCESS: "users"`, as a dictionary of RFC 9651. */
  user: 'X-Selvedge-User',
} as const

/** In the request that calls an OCI container at a time of `MCM.CRON`: the expression. The gateway removes it from all other requests. */
export const scheduledHeader = 'X-Selvedge-Scheduled'

/** What a service may ask its own socket for, at `POST <path>`; every other path of that socket is the gateway's. */
export const hostPaths = {
  /** `{ "audience": "<container id>" }` → `{ "token", "expiresAt" }`: proves to another service which container calls it. */
  identityToken: '/runtime/v1/identity-token',
  /** `{ "sealed", "token" }` → `{ "cluster", "accountId", "nodes" }`: opens the list of nodes that a request without a token got. */
  openNodes: '/runtime/v1/open-nodes',
} as const
