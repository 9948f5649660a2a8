/** Tables about apps that people sign in to. The version before does not know them. */
import type { AddedTable } from '@selvedge/service-kit/store'

const same = (table: string, text: string): AddedTable => ({ table, sqlite: text, postgres: text })

/** How people sign in to the app of a project. The lists are JSON. */
const projectApps = same(
  'project_apps',
  `CREATE TABLE project_apps (
    client_id TEXT PRIMARY KEY REFERENCES projects (client_id) ON DELETE CASCADE, app_type TEXT NOT NULL, app_users TEXT NOT NULL,
    redirect_uris TEXT NOT NULL, post_logout_redirect_uris TEXT NOT NULL, origins TEXT NOT NULL
  )`,
)

/** The origins of all projects: a preflight request of a browser names an origin and no client. */
const projectOrigins = same(
  'project_origins',
  `CREATE TABLE project_origins (
    origin TEXT NOT NULL, client_id TEXT NOT NULL REFERENCES projects (client_id) ON DELETE CASCADE, PRIMARY KEY (origin, client_id)
  );
  CREATE INDEX project_origins_client ON project_origins (client_id);`,
)

/** Requests that apps pushed (RFC 9126); used once. */
const pushedRequests = same(
  'pushed_requests',
  `CREATE TABLE pushed_requests (
    request_hash TEXT PRIMARY KEY, client_id TEXT NOT NULL, form TEXT NOT NULL, network TEXT NOT NULL, expires_at BIGINT NOT NULL
  );
  CREATE INDEX pushed_requests_expires ON pushed_requests (expires_at);
  CREATE INDEX pushed_requests_network ON pushed_requests (network);
  CREATE INDEX pushed_requests_client ON pushed_requests (client_id);`,
)

/** Authorization codes. One that was used stays as long as a token from it may be valid, so that its reuse revokes that token. */
const authorizationCodes = same(
  'authorization_codes',
  `CREATE TABLE authorization_codes (
    code_hash TEXT PRIMARY KEY, sid TEXT NOT NULL UNIQUE, client_id TEXT NOT NULL, redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL, jkt TEXT NOT NULL, scope TEXT NOT NULL, audience TEXT NOT NULL, nonce TEXT NOT NULL,
    node_id TEXT NOT NULL, account_id TEXT NOT NULL, person_id TEXT NOT NULL, email TEXT NOT NULL, auth_time BIGINT NOT NULL,
    epoch BIGINT NOT NULL, described TEXT NOT NULL, expires_at BIGINT NOT NULL, used_at BIGINT
  );
  CREATE INDEX authorization_codes_expires ON authorization_codes (expires_at);
  CREATE INDEX authorization_codes_person ON authorization_codes (person_id);`,
)

/** What a person approved for an app, for as long as the session of the browser lasts. */
const appConsents = same(
  'app_consents',
  `CREATE TABLE app_consents (
    session_id TEXT NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE, client_id TEXT NOT NULL,
    account_id TEXT NOT NULL, scope TEXT NOT NULL, PRIMARY KEY (session_id, client_id, account_id)
  )`,
)

/**
 * Sign-ins that are of an app, and their whole scope. The row in `sign_ins` is without "openid": the version before would issue a
 * developer ID token for it, which is not for an app.
 */
const appSignIns = same(
  'app_sign_ins',
  `CREATE TABLE app_sign_ins (
    sid TEXT PRIMARY KEY REFERENCES sign_ins (sid) ON DELETE CASCADE, scope TEXT NOT NULL
  )`,
)

/** The algorithm of the ID tokens of a project, unless it is the default. */
const projectIdTokens = same(
  'project_id_tokens',
  `CREATE TABLE project_id_tokens (
    client_id TEXT PRIMARY KEY REFERENCES projects (client_id) ON DELETE CASCADE, id_token_signed_response_alg TEXT NOT NULL
  )`,
)

/** As `signing_keys`, for the algorithm RS256; without rows until a project wants it. */
const rsaSigningKeys = same(
  'rsa_signing_keys',
  `CREATE TABLE rsa_signing_keys (
    kid TEXT PRIMARY KEY, private_jwk TEXT NOT NULL, state TEXT NOT NULL, since BIGINT NOT NULL
  );
  CREATE UNIQUE INDEX rsa_signing_keys_single ON rsa_signing_keys (state) WHERE state IN ('active', 'next');`,
)

/** In an order in which rows can be copied. */
export const appTables: readonly AddedTable[] = [
  rsaSigningKeys,
  projectApps,
  projectIdTokens,
  projectOrigins,
  pushedRequests,
  authorizationCodes,
  appConsents,
  appSignIns,
]
