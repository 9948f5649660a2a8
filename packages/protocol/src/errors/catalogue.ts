/**
 * Every error of the JSON-RPC APIs: the local one, and that of the console. One row for each reason. Clients switch on the reason; the number groups reasons, the message
 * is the number's fixed text. Documentation, OpenRPC and the client's types come from this table.
 */

interface Row {
  /** JSON-RPC error code. */
  readonly code: number
  /** Whether the same call may succeed later without any change. */
  readonly retryable: boolean
  /** What happened, for the reference. */
  readonly meaning: string
  /** What to do about it; sent as `data.hint` unless the error has its own hint. */
  readonly hint: string
}

/** The fixed `error.message` of each code. */
export const messages = {
  [-32700]: 'Parse error',
  [-32600]: 'Invalid Request',
  [-32601]: 'Method not found',
  [-32602]: 'Invalid params',
  [-32603]: 'Internal error',
  [-32001]: 'Not authenticated',
  [-32003]: 'Not permitted',
  [-32004]: 'Not found',
  [-32009]: 'Conflict',
  [-32010]: 'Service unavailable',
  [-32013]: 'Limit exceeded',
  [-32015]: 'Image or container refused',
} as const

export const catalogue = {
  parse_error: {
    code: -32700,
    retryable: false,
    meaning: 'The body is not one JSON value in UTF-8, or an object in it has two members of the same name.',
    hint: 'Send one JSON value, encoded as UTF-8, with no repeated member names.',
  },
  invalid_request: {
    code: -32600,
    retryable: false,
    meaning: 'The JSON value is not a JSON-RPC 2.0 request or batch.',
    hint: 'Send {"jsonrpc":"2.0","method":"getMe","params":[],"id":1}.',
  },
  method_not_found: {
    code: -32601,
    retryable: false,
    meaning: 'The runtime has no such method.',
    hint: 'Call rpc.discover for the list of methods.',
  },
  websocket_required: {
    code: -32600,
    retryable: false,
    meaning: 'The method sends notifications, and an HTTP request has one answer.',
    hint: 'Call it over a WebSocket at /jsonrpc/v1, or follow GET /jsonrpc/v1/events?topics=… with the token in the Authorization header.',
  },
  invalid_params: {
    code: -32602,
    retryable: false,
    meaning: 'A parameter is missing, unknown, of the wrong type or out of its range; the detail names it.',
    hint: 'Call rpc.discover for the parameters of the method.',
  },
  internal_error: {
    code: -32603,
    retryable: false,
    meaning: 'The server failed. Its log has the cause under the ID in data.errorId.',
    hint: 'Search the log of the server for the errorId of this response.',
  },
  token_missing: {
    code: -32001,
    retryable: false,
    meaning: 'The method needs an edge access token, and the request has none.',
    hint: 'Get an access token from the token endpoint and pass it as the first parameter.',
  },
  token_malformed: {
    code: -32001,
    retryable: false,
    meaning: 'The token is not a compact JWT in strict base64url and JSON.',
    hint: 'Pass the access_token of the token endpoint as it is, with nothing before or after it.',
  },
  token_expired: {
    code: -32001,
    retryable: false,
    meaning: 'The token has expired.',
    hint: 'Get a new access token from the token endpoint.',
  },
  token_not_yet_valid: {
    code: -32001,
    retryable: true,
    meaning: 'The token is not valid yet: the clock of this device or of the identity service is wrong.',
    hint: 'Compare the clocks of this device and of the identity service.',
  },
  token_untrusted: {
    code: -32001,
    retryable: false,
    meaning:
      'The runtime does not accept the issuer, key, signature, algorithm, type or audience of the token.',
    hint: 'Use an access token that the identity service of this runtime issued for it.',
  },
  token_revoked: {
    code: -32001,
    retryable: false,
    meaning: 'The token was revoked, or was issued before its account was removed from this runtime.',
    hint: 'Get a new access token from the token endpoint.',
  },
  api_key_invalid: {
    code: -32001,
    retryable: false,
    meaning: 'The runtime requires its API key. The request has no API key, or a wrong one.',
    hint: 'Send "Authorization: Bearer <key>" with the key in the api-key file of the state folder.',
  },
  insufficient_scope: {
    code: -32003,
    retryable: false,
    meaning: 'The token is valid but does not have the scope that the method needs.',
    hint: 'Request a token with the scope that the detail names.',
  },
  wrong_node: {
    code: -32003,
    retryable: false,
    meaning: 'The token was issued for another node.',
    hint: 'Repeat the token exchange with the edge ID token of this node (getEdgeIdToken).',
  },
  wrong_account: {
    code: -32003,
    retryable: false,
    meaning: 'The token belongs to an account that is not the one associated with this runtime.',
    hint: 'Use a token of the associated account. getMe returns the account ID.',
  },
  not_associated: {
    code: -32003,
    retryable: false,
    meaning: 'The method needs an associated account and the runtime has none.',
    hint: 'Call associateAccount first.',
  },
  service_not_allowed: {
    code: -32003,
    retryable: false,
    meaning:
      'A service of the device called a method that services may not call, or that needs a setting of its container.',
    hint: 'docs/services.md lists what services may call, and the setting that each call needs.',
  },
  not_found: {
    code: -32004,
    retryable: false,
    meaning: 'The item does not exist, or the caller may not see it.',
    hint: 'Check the name or the ID in the detail.',
  },
  already_associated: {
    code: -32009,
    retryable: false,
    meaning: 'The runtime is already associated with another account.',
    hint: 'Call unassociateAccount with a token of that account first.',
  },
  join_key_refused: {
    code: -32003,
    retryable: false,
    meaning: 'The identity service does not accept the join key, now; the detail has the reason.',
    hint: 'An owner of the account makes another key: selvedge join-key create.',
  },
  already_exists: {
    code: -32009,
    retryable: false,
    meaning: 'The name is already in use.',
    hint: 'Choose another name.',
  },
  in_use: {
    code: -32009,
    retryable: false,
    meaning: 'The item is in use.',
    hint: 'First remove what uses it. The detail names it.',
  },
  conflict: {
    code: -32009,
    retryable: false,
    meaning: 'The current state of the item does not allow this change.',
    hint: 'Read its state again, and change the request if necessary.',
  },
  use_dpop_nonce: {
    code: -32001,
    retryable: true,
    meaning:
      'The token is bound to a key, and the DPoP proof does not have the nonce of the runtime (RFC 9449 § 9).',
    hint: 'Repeat the call with a proof that contains the nonce from the DPoP-Nonce header.',
  },
  invalid_dpop_proof: {
    code: -32001,
    retryable: false,
    meaning: 'The token is bound to a key, and the call has no valid DPoP proof of that key.',
    hint: 'Sign a new proof for this request with the key of the token, and send it in the DPoP header.',
  },
  signed_out: {
    code: -32001,
    retryable: false,
    meaning: 'Console: you are not signed in, or the session expired.',
    hint: 'Sign in.',
  },
  credentials_invalid: {
    code: -32001,
    retryable: false,
    meaning: 'Console: the passkey, password, recovery code or link is not accepted.',
    hint: 'Check what you entered. If you lost all your sign-in methods, ask the operator for a link: selvedge admin account link.',
  },
  step_up_required: {
    code: -32001,
    retryable: false,
    meaning: 'Console: this action needs a sign-in within the last ten minutes.',
    hint: 'Sign in again to confirm that it is you.',
  },
  forbidden: {
    code: -32003,
    retryable: false,
    meaning: 'Console: only owners of the account may do this.',
    hint: 'Ask an owner of the account.',
  },
  identity_unavailable: {
    code: -32010,
    retryable: true,
    meaning: 'The identity service did not answer in time, or refused this node.',
    hint: 'Try again later. "selvedge status" shows how long it has been unavailable.',
  },
  discovery_unavailable: {
    code: -32010,
    retryable: true,
    meaning: 'The discovery service did not answer in time, and no earlier answer is cached.',
    hint: 'Try again later. "selvedge status" shows how long it has been unavailable.',
  },
  company_unavailable: {
    code: -32010,
    retryable: true,
    meaning: 'Console: the provider of the company did not answer as it has to.',
    hint: 'Try again later. If that does not help, the operator finds the cause with "selvedge admin company test <domain>".',
  },
  engine_unavailable: {
    code: -32010,
    retryable: true,
    meaning: 'The engine that runs this kind of image is not installed, or does not answer.',
    hint: 'Run "selvedge doctor". It shows what is missing and how to install it.',
  },
  registry_unavailable: {
    code: -32010,
    retryable: true,
    meaning:
      'The image registry, its token server or its storage did not answer, is busy, or the connection broke too often.',
    hint: 'Check the image reference and the network, and try again later.',
  },
  registry_refused: {
    code: -32015,
    retryable: false,
    meaning:
      'The image registry or its token server refused the request: it has no credentials, wrong ones, or ones without the right to the image. The detail has the words of the registry.',
    hint: 'Check the image reference, and the entry of the registry in the file that images.registryAuth names.',
  },
  storage_failed: {
    code: -32010,
    retryable: true,
    meaning:
      'The state could not be read or written. The detail names the cause, which is not a full disk. Changes that were acknowledged before are not lost.',
    hint: 'Try again. If it still fails, check the disk or the database, and search the log for the errorId of this response.',
  },
  limit_exceeded: {
    code: -32013,
    retryable: false,
    meaning: 'A limit was exceeded, such as the size of a request, its depth, or its number of calls.',
    hint: 'The detail names the limit. Send a smaller request, or remove what is no longer needed.',
  },
  storage_full: {
    code: -32013,
    retryable: true,
    meaning:
      'The state could not be written because the disk is full. Changes that were acknowledged before are not lost.',
    hint: 'Free space on the disk that holds the state folder.',
  },
  busy: {
    code: -32013,
    retryable: true,
    meaning:
      'Another operation on the same item is in progress, or the runtime has as many requests as it can handle.',
    hint: 'Try again in a moment.',
  },
  invalid_image: {
    code: -32015,
    retryable: false,
    meaning:
      'The archive is damaged, incomplete, or contains entries that an image may not contain. Nothing of it was stored.',
    hint: 'Create the archive again with "docker save", "skopeo copy" or "selvedge image pack".',
  },
  unsupported_image: {
    code: -32015,
    retryable: false,
    meaning: 'The archive is valid but contains nothing that this runtime can run.',
    hint: 'A function image contains one file, index.js or index.wasm. Any other image needs a root file system and a command.',
  },
  digest_mismatch: {
    code: -32015,
    retryable: false,
    meaning: 'The content does not match its digest.',
    hint: 'Fetch or build the image again. If the error persists, the image was changed in transit.',
  },
  container_failed: {
    code: -32015,
    retryable: false,
    meaning:
      'The container did not start, did not pass its health check, or exited. The detail has its last output.',
    hint: 'Read its log with getContainerLogs, fix it, and deploy it again.',
  },
} as const satisfies Record<string, Row>

/** The stable word that clients switch on. */
export type Reason = keyof typeof catalogue

export const reasons = Object.keys(catalogue) as readonly Reason[]
