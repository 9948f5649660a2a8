/** The OpenID provider of a company on the loopback interface. A test decides each of its answers: it can be as hostile as it likes. */
import { createHash, createHmac, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { issuerKeys, jwkOf, signToken } from './oidc-issuer.ts'

type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** What the next ID token has; undefined removes a claim. */
export interface NextToken {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: object
  readonly algorithm?: 'RS256' | 'PS256' | 'ES256' | 'EdDSA'
  /** Who signs: the provider, a stranger, no key, or HMAC with the public key. */
  readonly sign?: 'provider' | 'stranger' | 'unsigned' | 'hs256'
}

export interface CompanyProvider {
  readonly url: string
  /** Paths that were asked for, in order. */
  readonly asked: string[]
  /** Forms that the token endpoint got, and its Authorization headers. */
  readonly forms: { form: URLSearchParams; authorization: string | undefined }[]
  /** Answers in place of the right ones, by path. */
  readonly answers: Record<string, Answer | undefined>
  /** Members of the metadata that are not the usual ones; undefined removes one. */
  metadata: Readonly<Record<string, unknown>>
  next: NextToken
  /** The authorization endpoint was visited at this URL: the token endpoint knows nonce and PKCE challenge from now on. */
  visit(url: string): { readonly state: string; readonly code: string; readonly query: string }
  stop(): Promise<void>
}

const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

const sendJson = (response: ServerResponse, value: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

function makeToken(
  payload: object,
  { sign = 'provider', algorithm = 'RS256', header = {} }: NextToken,
): string {
  if (sign === 'provider') return signToken(payload, { algorithm, header })
  if (sign === 'stranger') return signToken(payload, { algorithm: 'RS256', header, key: stranger })
  const alg = sign === 'unsigned' ? 'none' : 'HS256'
  const input = `${encode({ typ: 'JWT', alg, kid: 'RS256', ...header })}.${encode(payload)}`
  const pem = issuerKeys.RS256.publicKey.export({ format: 'pem', type: 'spki' })
  const signature = sign === 'unsigned' ? '' : createHmac('sha256', pem).update(input).digest('base64url')
  return `${input}.${signature}`
}

export async function startCompanyProvider(): Promise<CompanyProvider> {
  const asked: string[] = []
  const forms: CompanyProvider['forms'] = []
  const answers: CompanyProvider['answers'] = {}
  const codes = new Map<string, { nonce: string; challenge: string; clientId: string; redirectUri: string }>()

  async function token(request: IncomingMessage, response: ServerResponse) {
    const form = new URLSearchParams(await text(request))
    forms.push({ form, authorization: request.headers.authorization })
    const known = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const proven = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (!known || proven !== known.challenge || form.get('redirect_uri') !== known.redirectUri)
      return sendJson(response, { error: 'invalid_grant' }, 400)
    const iat = Math.floor(Date.now() / 1000)
    const usual = {
      iss: own.url,
      sub: 'grace',
      aud: known.clientId,
      nonce: known.nonce,
      iat,
      exp: iat + 300,
      groups: ['engineers'],
    }
    const id_token = makeToken({ ...usual, ...own.next.claims }, own.next)
    return sendJson(response, { access_token: 'a', token_type: 'Bearer', id_token })
  }

  const server = createServer((request, response) => {
    asked.push(request.url!)
    const instead = answers[request.url!]
    if (instead) return instead(response, request)
    if (request.url === '/.well-known/openid-configuration')
      return sendJson(response, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256', 'PS256', 'ES256', 'EdDSA'],
        token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'private_key_jwt'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        ...own.metadata,
      })
    if (request.url === '/keys')
      return sendJson(response, { keys: (['RS256', 'ES256', 'EdDSA'] as const).map((each) => jwkOf(each)) })
    if (request.url === '/token') return void token(request, response)
    return sendJson(response, { error: 'not_found' }, 404)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let count = 0
  const own: CompanyProvider = {
    url,
    asked,
    forms,
    answers,
    metadata: {},
    next: {},
    visit(begun) {
      const { searchParams } = new URL(begun)
      const code = `code-${++count}`
      const of = (name: string) => searchParams.get(name) ?? ''
      codes.set(code, {
        nonce: of('nonce'),
        challenge: of('code_challenge'),
        clientId: of('client_id'),
        redirectUri: of('redirect_uri'),
      })
      const state = of('state')
      return { state, code, query: new URLSearchParams({ code, state, iss: url }).toString() }
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return own
}
