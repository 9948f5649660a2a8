/** Hostile ID tokens of an issuer that a project trusts, and the hostile issuer itself. Both grants refuse them alike. */
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { grantTypes, tokenTypes } from '@selvedge/protocol'
import type { AdminInput } from '@selvedge/protocol/admin'
import { type SignatureAlgorithm, splitCondition } from '@selvedge/protocol/tokens'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminOf, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import {
  githubClaims,
  issuerKeys,
  jwkOf,
  type OidcIssuer,
  signWith,
  startOidcIssuer,
} from '../harness/oidc-issuer.ts'
import { type Stack, startStack } from '../harness/processes.ts'

interface Attack {
  readonly name: string
  /** What differs from the usual rule; conditions as `claim=value`. */
  readonly rule?: Readonly<Record<string, unknown>> & { readonly conditions?: readonly string[] }
  readonly algorithm?: SignatureAlgorithm
  readonly header?: Readonly<Record<string, unknown>>
  /** Merged into the claims; null removes one. `$now+1` is a time, `$url` the issuer, `$stranger` another one. */
  readonly claims?: Readonly<Record<string, unknown>>
  /** JSON text appended to the payload, in place of its closing brace. */
  readonly append?: string
  readonly sign?: 'issuer' | 'stranger' | 'none' | 'hs256'
  readonly spell?: 'cut'
  /** Keys that the issuer publishes: of an algorithm, with other members; null removes one. */
  readonly keys?: readonly (Readonly<Record<string, unknown>> & { readonly of?: SignatureAlgorithm })[]
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly scope?: string
  /** `accepted`, or a part of the refusal. */
  readonly expect: string
}

const attacks: readonly Attack[] = JSON.parse(
  readFileSync(new URL('federated-tokens.json', import.meta.url), 'utf8'),
)

let stack: Stack
let developer: Developer
let edge: string
let stranger: OidcIssuer
const strangerKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

beforeAll(async () => {
  stack = await startStack()
  developer = await createDeveloper(stack.state, { scopes: ['edge:mcm', 'edge:clusters', 'offline_access'] })
  edge = (await runtimeOf(stack).getEdgeIdToken()).id_token
  stranger = await startOidcIssuer()
})
afterAll(async () => {
  await stranger?.stop()
  await stack?.stop()
})

function evaluate(value: unknown, url: string): unknown {
  if (Array.isArray(value)) return value.map((each) => evaluate(each, url))
  if (typeof value === 'object' && value !== null) return merge({}, value as Record<string, unknown>, url)
  if (typeof value !== 'string') return value
  const time = /^\$now([+-]\d+)( text)?$/.exec(value)
  if (time) {
    const seconds = Math.floor(Date.now() / 1000) + Number(time[1])
    return time[2] ? String(seconds) : seconds
  }
  return value
    .replace('$stranger', stranger.url)
    .replace('$identity', stack.identity.url)
    .replace('$email', developer.email)
    .replace('$long', 'x'.repeat(513))
    .replace('$url', url)
    .replace('$URL', url.replace('http', 'HTTP'))
}

function merge(
  before: object,
  changes: Readonly<Record<string, unknown>> = {},
  url = '',
): Record<string, unknown> {
  const result: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete result[name]
    else result[name] = evaluate(value, url)
  }
  return result
}

const encode = (text: string) => Buffer.from(text).toString('base64url')

function makeToken(
  { algorithm = 'RS256', header, claims, append, sign = 'issuer', spell }: Attack,
  url: string,
) {
  const now = Math.floor(Date.now() / 1000)
  const usual = { ...githubClaims, iss: url, aud: 'selvedge', iat: now, exp: now + 300 }
  const text = JSON.stringify(merge(usual, claims, url))
  const payload = append === undefined ? text : `${text.slice(0, -1)},${evaluate(append, url)}}`
  const named = merge({ typ: 'JWT', alg: algorithm, kid: algorithm }, header, url)
  const input = `${encode(JSON.stringify(named))}.${encode(payload)}`
  const publicKey = issuerKeys.RS256.publicKey.export({ format: 'pem', type: 'spki' })
  const signature = {
    issuer: () => signWith(algorithm, issuerKeys[algorithm].privateKey, input),
    stranger: () => signWith('RS256', strangerKey, input),
    none: () => Buffer.from('none'),
    hs256: () => createHmac('sha256', publicKey).update(input).digest(),
  }[sign]()
  return spell === 'cut' ? `${input}.` : `${input}.${signature.toString('base64url')}`
}

/** The answers of both grants: `accepted`, or the error with its description, without the time of the refusal. */
async function outcomesOf(token: string, scope = 'edge:mcm'): Promise<string[]> {
  const ask = async (fields: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: developer.clientId, scope, ...fields })
    const response = await fetch(`${stack.identity.url}/token`, { method: 'POST', redirect: 'error', body })
    const { error, error_description } = (await response.json()) as Record<string, string>
    if (response.status === 200) return 'accepted'
    return `${error}: ${error_description?.replace(/it is \S+ now/, 'it is $time now')}`
  }
  const idToken = tokenTypes.idToken
  return [
    await ask({ grant_type: grantTypes.idTokenSignin, id_token: token, edge_id_token: edge }),
    await ask({
      grant_type: grantTypes.tokenExchange,
      subject_token: token,
      subject_token_type: idToken,
      actor_token: edge,
      actor_token_type: idToken,
    }),
  ]
}

function setUp(issuer: OidcIssuer, { keys, metadata, rule = {} }: Attack): AdminInput<'issuer.add'> {
  if (keys) issuer.keys = keys.map(({ of, ...more }) => merge(of ? jwkOf(of) : {}, more))
  // A member that is null is absent from the JSON text.
  if (metadata)
    issuer.metadata = Object.fromEntries(
      Object.entries(metadata).map(([name, value]) => [
        name,
        value === null ? undefined : evaluate(value, issuer.url),
      ]),
    )
  const { conditions = ['repository=octo-org/octo-repo'], ...more } = rule
  return {
    clientId: developer.clientId,
    issuer: issuer.url,
    audiences: ['selvedge'],
    scopes: ['edge:mcm'],
    as: 'workload',
    algorithms: ['RS256'],
    allowsPrivate: true,
    ...merge({}, more, issuer.url),
    conditions: conditions.map((each) => splitCondition(each)!),
  }
}

it.each(attacks)('$name: $expect', async (attack) => {
  const issuer = await startOidcIssuer()
  const admin = adminOf(stack.state)
  const { issuerId } = await admin['issuer.add'](setUp(issuer, attack))
  try {
    const [own, standard] = await outcomesOf(makeToken(attack, issuer.url), attack.scope)
    expect(own).toContain(attack.expect)
    // RFC 8693 § 2.2.2 has another code for the same refusal.
    expect(
      standard?.replace('invalid_request', 'invalid_grant').replaceAll('subject_token', 'id_token'),
    ).toBe(own)
    expect(stranger.asked).toEqual([])
  } finally {
    await admin['issuer.remove']({ issuer: issuerId, clientId: null })
    await issuer.stop()
  }
})
