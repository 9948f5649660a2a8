/** Headers and tokens between the gateway and the services behind it. */

/** What the gateway tells a service of its caller. The same names in a request from outside are dropped. */
export const callerHeaders = {
  account: 'X-Selvedge-Account',
  client: 'X-Selvedge-Client',
  scope: 'X-Selvedge-Scope',
  /** Id of the container that calls, where the caller is one. */
  container: 'X-Selvedge-Container',
} as const

/** What a service may ask its own socket for, at `POST <path>`; every other path of that socket is the gateway's. */
export const hostPaths = {
  /** `{ "audience": "<container id>" }` → `{ "token", "expiresAt" }`: proves to another service who calls. */
  identityToken: '/runtime/v1/identity-token',
} as const
