/** An OpenID Connect issuer on the loopback interface, with a key of each algorithm. A test can change its answers. */
import {
  constants,
  sign as cryptoSign,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SignatureAlgorithm } from '@selvedge/protocol/tokens'
import { signEs256 } from '@selvedge/service-kit/tokens'

interface Pair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** Made once: an RSA key costs a tenth of a second. */
export const issuerKeys: Readonly<Record<SignatureAlgorithm, Pair>> = {
  RS256: rsa,
  PS256: rsa,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
}

export const jwkOf = (algorithm: SignatureAlgorithm, more: object = {}): JsonWebKey => ({
  ...issuerKeys[algorithm].publicKey.export({ format: 'jwk' }),
  kid: algorithm,
  alg: algorithm,
  use: 'sig',
  ...more,
})

export function signWith(algorithm: SignatureAlgorithm, key: KeyObject, input: string): Buffer {
  if (algorithm === 'ES256') return signEs256(key, input)
  if (algorithm === 'EdDSA') return cryptoSign(null, Buffer.from(input), key)
  const padding = algorithm === 'PS256' ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING
  const options = algorithm === 'PS256' ? { key, padding, saltLength: 32 } : { key, padding }
  return cryptoSign('sha256', Buffer.from(input), options)
}

const encode = (value: object | string) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

export interface SignOptions {
  readonly algorithm?: SignatureAlgorithm
  /** Members of the header that are not the usual ones. */
  readonly header?: object
  readonly key?: KeyObject
}

/** @param payload an object, or the JSON text itself */
export function signToken(
  payload: object | string,
  { algorithm = 'RS256', header = {}, key }: SignOptions = {},
): string {
  const input = `${encode({ typ: 'JWT', alg: algorithm, kid: algorithm, ...header })}.${encode(payload)}`
  return `${input}.${signWith(algorithm, key ?? issuerKeys[algorithm].privateKey, input).toString('base64url')}`
}

/** Answers a request of one of the two documents in place of the issuer. */
type Answer = (response: ServerResponse) => void

export interface OidcIssuer {
  readonly url: string
  /** Paths that were asked for, in order. */
  readonly asked: string[]
  /** Answers in place of the right ones. */
  readonly answers: { metadata?: Answer | undefined; jwks?: Answer | undefined }
  /** Members of its metadata that are not the right ones. */
  metadata: object
  keys: readonly object[]
  /** An ID token with right times. @param claims beside `iss`, `iat` and `exp` */
  issue(claims: object, options?: SignOptions): string
  stop(): Promise<void>
}

const sendJsonText = (response: ServerResponse, value: unknown, headers: object = {}) =>
  response
    .writeHead(200, { 'content-type': 'application/json', ...headers })
    .end(typeof value === 'string' ? value : JSON.stringify(value))

export async function startOidcIssuer(): Promise<OidcIssuer> {
  const asked: string[] = []
  const answers: OidcIssuer['answers'] = {}
  const server = createServer((request, response) => {
    asked.push(request.url!)
    const isMetadata = request.url === '/.well-known/openid-configuration'
    const instead = isMetadata ? answers.metadata : answers.jwks
    if (instead) instead(response)
    else if (isMetadata) sendJsonText(response, { issuer: url, jwks_uri: `${url}/keys`, ...own.metadata })
    else sendJsonText(response, { keys: own.keys })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const own: OidcIssuer = {
    url,
    asked,
    answers,
    metadata: {},
    keys: (['RS256', 'ES256', 'EdDSA'] as const).map((each) => jwkOf(each)),
    issue(claims, options) {
      const now = Math.floor(Date.now() / 1000)
      return signToken({ iss: url, iat: now, exp: now + 300, ...claims }, options)
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return own
}

/** The claims of a job of GitHub Actions, as its documentation lists them. */
export const githubClaims = {
  jti: 'example-id',
  sub: 'repo:octo-org/octo-repo:environment:prod',
  environment: 'prod',
  ref: 'refs/heads/main',
  sha: 'example-sha',
  repository: 'octo-org/octo-repo',
  repository_owner: 'octo-org',
  actor_id: '12',
  repository_visibility: 'private',
  repository_id: '74',
  repository_owner_id: '65',
  run_id: 'example-run-id',
  run_number: '10',
  run_attempt: '2',
  runner_environment: 'github-hosted',
  actor: 'octocat',
  workflow: 'example-workflow',
  head_ref: '',
  base_ref: '',
  event_name: 'workflow_dispatch',
  ref_type: 'branch',
  job_workflow_ref: 'octo-org/octo-automation/.github/workflows/oidc.yml@refs/heads/main',
} as const
