/**
 * Every error of the JSON-RPC APIs: the local one, and that of the console. One row a reason. Clients switch on the reason; the number groups reasons, the message
 * is the number's fixed text. Documentation, OpenRPC and the client's types come from this table.
 */

interface Row {
  /** JSON-RPC error code. */
  readonly code: number
  /** Whether the same call may succeed later without any change. */
  readonly retryable: boolean
  /** What happened, for the reference. */
  readonly meaning: string
  /** What to do about it; sent as `data.hint` where the call gives none of its own. */
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
  invalid_params: {
    code: -32602,
    retryable: false,
    meaning: 'A parameter is missing, unknown, of the wrong type or out of its range; the detail names it.',
    hint: 'Call rpc.discover for the parameters of the method.',
  },
  internal_error: {
    code: -32603,
    retryable: false,
    meaning: 'The runtime failed; its log has the cause under the id in data.errorId.',
    hint: 'Look in the log of the runtime for the errorId of this answer.',
  },
  token_missing: {
    code: -32001,
    retryable: false,
    meaning: 'The method needs an edge access token and got none.',
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
    meaning: 'The token has ended.',
    hint: 'Get a new access token from the token endpoint.',
  },
  token_not_yet_valid: {
    code: -32001,
    retryable: true,
    meaning: 'The token begins in the future: one of the two clocks is wrong.',
    hint: 'Compare the clocks of this device and of the identity service.',
  },
  token_untrusted: {
    code: -32001,
    retryable: false,
    meaning:
      'Issuer, key, signature, algorithm, type or audience of the token are not those this runtime accepts.',
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
    meaning: 'The runtime asks for its API key and the request has none or another one.',
    hint: 'Send "Authorization: Bearer <key>" with the key in the api-key file of the state folder.',
  },
  insufficient_scope: {
    code: -32003,
    retryable: false,
    meaning: 'The token is valid, but lacks the scope that the method needs.',
    hint: 'Ask the token endpoint for the scope that the detail names.',
  },
  wrong_node: {
    code: -32003,
    retryable: false,
    meaning: 'The token was issued for another node.',
    hint: 'Make the exchange with the edge ID token of this node (getEdgeIdToken).',
  },
  wrong_account: {
    code: -32003,
    retryable: false,
    meaning: 'The token is of another account than the one associated with this runtime.',
    hint: 'Use a token of the associated account; getMe shows it.',
  },
  not_associated: {
    code: -32003,
    retryable: false,
    meaning: 'The method needs an associated account and the runtime has none.',
    hint: 'Call associateAccount first.',
  },
  not_found: {
    code: -32004,
    retryable: false,
    meaning: 'There is no such thing.',
    hint: 'Check the name or the id in the detail.',
  },
  already_associated: {
    code: -32009,
    retryable: false,
    meaning: 'The runtime is already associated with another account.',
    hint: 'Call unassociateAccount with a token of that account first.',
  },
  already_exists: {
    code: -32009,
    retryable: false,
    meaning: 'Something with this name is already there.',
    hint: 'Choose another name.',
  },
  in_use: {
    code: -32009,
    retryable: false,
    meaning: 'Something else still needs the thing.',
    hint: 'Remove what uses it first; the detail names it.',
  },
  conflict: {
    code: -32009,
    retryable: false,
    meaning: 'The state of the thing does not allow this change.',
    hint: 'Read its state again, then decide.',
  },
  use_dpop_nonce: {
    code: -32001,
    retryable: true,
    meaning: 'The token is bound to a key, and the DPoP proof lacks the nonce of the runtime (RFC 9449 § 9).',
    hint: 'Repeat the call with a proof that holds the nonce of the DPoP-Nonce header.',
  },
  invalid_dpop_proof: {
    code: -32001,
    retryable: false,
    meaning: 'The token is bound to a key, and the call has no DPoP proof of that key, or a bad one.',
    hint: 'Sign a proof for this very request with the key of the token, and send it in the DPoP header.',
  },
  signed_out: {
    code: -32001,
    retryable: false,
    meaning: 'Console: there is no session, or it has ended.',
    hint: 'Sign in.',
  },
  credentials_invalid: {
    code: -32001,
    retryable: false,
    meaning: 'Console: the passkey, password, recovery code or link is not accepted.',
    hint: 'Check what you entered. A person who has lost every sign-in method needs a link of the operator: selvedge admin account link.',
  },
  step_up_required: {
    code: -32001,
    retryable: false,
    meaning: 'Console: what was asked for needs a sign-in of the last ten minutes.',
    hint: 'Confirm that it is you: sign in once more.',
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
    hint: 'Try again later; "selvedge status" shows since when it is away.',
  },
  discovery_unavailable: {
    code: -32010,
    retryable: true,
    meaning: 'The discovery service did not answer in time, and there is no earlier answer to show.',
    hint: 'Try again later; "selvedge status" shows since when it is away.',
  },
  engine_unavailable: {
    code: -32010,
    retryable: true,
    meaning: 'The engine that runs this kind of image is not there, or does not answer.',
    hint: 'Run "selvedge doctor": it says what is missing and how to get it.',
  },
  registry_unavailable: {
    code: -32010,
    retryable: true,
    meaning: 'The image registry did not answer, or refused the credentials.',
    hint: 'Check the reference and the network; credentials are in the file that images.registryAuth names.',
  },
  storage_failed: {
    code: -32010,
    retryable: true,
    meaning:
      'The state could not be read or written for another reason than a full disk; the detail names it. What was acknowledged before is kept.',
    hint: 'Try again; if it stays so, look at the disk or the database, and in the log for the errorId of this answer.',
  },
  limit_exceeded: {
    code: -32013,
    retryable: false,
    meaning: 'The request is larger, deeper or holds more calls than the runtime accepts.',
    hint: 'Send a smaller request; the detail names the limit.',
  },
  storage_full: {
    code: -32013,
    retryable: true,
    meaning: 'The state could not be written because the disk is full. What was acknowledged before is kept.',
    hint: 'Free space on the disk that holds the state folder.',
  },
  busy: {
    code: -32013,
    retryable: true,
    meaning: 'The runtime is at work on the same thing, or holds as many requests as it can.',
    hint: 'Try again in a moment.',
  },
  invalid_image: {
    code: -32015,
    retryable: false,
    meaning: 'The archive is broken, cut short, or holds what no image may hold; nothing of it was kept.',
    hint: 'Make the archive again with "docker save", "skopeo copy" or "selvedge image pack".',
  },
  unsupported_image: {
    code: -32015,
    retryable: false,
    meaning: 'The archive is sound and holds nothing that this runtime can run.',
    hint: 'A function image holds one file, index.js or index.wasm; any other needs a root file system and a command.',
  },
  digest_mismatch: {
    code: -32015,
    retryable: false,
    meaning: 'Content is not what its digest says.',
    hint: 'Fetch or build the image again; if the error stays, the image was changed on its way.',
  },
  container_failed: {
    code: -32015,
    retryable: false,
    meaning:
      'The container did not start, did not pass its health check, or ended; the detail has its last words.',
    hint: 'Read its log with getContainerLogs, fix it, and deploy it again.',
  },
} as const satisfies Record<string, Row>

/** The stable word that clients switch on. */
export type Reason = keyof typeof catalogue

export const reasons = Object.keys(catalogue) as readonly Reason[]
