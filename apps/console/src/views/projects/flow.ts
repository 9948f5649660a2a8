import type { ConsoleProject } from '@selvedge/protocol/console'

/** Scopes of the flow, where the project may have them. */
const wanted = ['openid', 'edge:mcm', 'edge:clusters', 'edge:account:associate']

/** Shell commands from a developer ID token in a file to a device that reports its location. */
export function flowOf({
  runtimeUrl,
  identityUrl,
  project: { clientId, scopes },
}: {
  runtimeUrl: string
  identityUrl: string
  project: ConsoleProject
}): string {
  const scope = wanted.filter((each) => (scopes as readonly string[]).includes(each)).join(' ')
  const runtime = runtimeUrl.endsWith('/') ? runtimeUrl.slice(0, -1) : runtimeUrl
  const call = `curl -sS ${runtime}/jsonrpc/v1 -H 'Content-Type: application/json'`
  return `umask 077
# The device proves its identity.
${call} \\
  -d '{"jsonrpc": "2.0", "id": 1, "method": "getEdgeIdToken", "params": [""]}' |
  sed -E 's/.*"id_token":"([^"]+)".*/\\1/' | tr -d '\\n' > edge.token

# Developer and device together get an access token.
curl -sS ${identityUrl}/token \\
  -d client_id=${clientId} \\
  -d grant_type=id_token_signin \\
  --data-urlencode id_token@developer.token \\
  --data-urlencode edge_id_token@edge.token \\
  --data-urlencode 'scope=${scope}' |
  sed -E 's/.*"access_token":"([^"]+)".*/\\1/' | tr -d '\\n' > access.token

# The device belongs to your account from now on.
printf '{"jsonrpc": "2.0", "id": 2, "method": "associateAccount", "params": ["%s"]}' "$(cat access.token)" |
  ${call} -w '\\n' -d @-

# It reports where it is: longitude, latitude, speed, bearing.
printf '{"jsonrpc": "2.0", "id": 3, "method": "updateGps", "params": ["%s", "-123.1150", "49.2500", "10.5", "350"]}' \\
  "$(cat access.token)" | ${call} -w '\\n' -d @-
`
}

/** Writes a token to a file that only its owner may read; the built-in printf keeps it out of the list of processes. */
export const keepToken = (idToken: string): string =>
  `(umask 077; printf %s '${idToken}' > developer.token)\n`

export const associateWith = (clientId: string): string =>
  `selvedge account associate --developer-token-file developer.token --client-id ${clientId}\n`
