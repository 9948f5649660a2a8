import {
  accessProfile,
  edgeAudience,
  parseJws,
  revocationsAudience,
  revocationsProfile,
  TokenError,
} from '@selvedge/protocol/tokens'
import { createTokenVerifier, signEs256 } from '@selvedge/service-kit/tokens'
import { mutateJson } from '../engine/mutate-json.ts'
import type { Mutator } from '../engine/target.ts'
import { outcomeOfLater, type Target } from '../engine/target.ts'
import { clock, keyOf, now } from './keys.ts'

const seconds = now / 1000
const issuer = 'https://identity.example'
const { privateKey, publicKey } = keyOf('issuer')
const header = (typ: string) => ({ alg: 'ES256', typ, kid: 'k1' })
const access = {
  iss: issuer,
  sub: 'account',
  aud: [edgeAudience],
  iat: seconds,
  exp: seconds + 3600,
  jti: 'id',
  client_id: 'client',
  azp: 'client',
  scope: 'openid edge:mcm',
  auth_time: seconds,
  node_id: 'a'.repeat(56),
  account_id: 'account',
  act: { sub: 'a'.repeat(56) },
  sid: 'sid',
  cnf: { jkt: 'thumbprint' },
}
const revocations = {
  iss: issuer,
  sub: issuer,
  aud: revocationsAudience,
  iat: seconds,
  exp: seconds + 3600,
  jti: 'list',
  seq: 7,
  revoked: Array.from({ length: 60 }, (_, at) => `id${at}`),
  not_before: Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`subject${at}`, seconds - at])),
}

const verify = async (token: string) => {
  const verifier = createTokenVerifier({
    issuers: () => [{ issuer, findKey: () => publicKey }],
    clock,
    remembered: 10,
  })
  const kinds = [
    [accessProfile, edgeAudience],
    [revocationsProfile, revocationsAudience],
  ] as const
  for (const [profile, audience] of kinds) {
    try {
      await verifier.verify(token, profile as never, audience)
      return `valid ${profile.label}`
    } catch (cause) {
      if (profile === revocationsProfile || !(cause instanceof TokenError)) throw cause
    }
  }
  return 'valid'
}

const encode = (text: string): string => Buffer.from(text).toString('base64url')
const unsigned = (head: object, payload: object) =>
  Buffer.from(`${encode(JSON.stringify(head))}.${encode(JSON.stringify(payload))}.${'A'.repeat(86)}`)

/** Mutates what one of the first two parts holds, and encodes it again. */
const mutatePart: Mutator = (input, random) => {
  const parts = input.toString('latin1').split('.')
  const at = random.below(Math.min(2, parts.length))
  parts[at] = encode(mutateJson(Buffer.from(parts[at]!, 'base64url'), random).toString())
  return Buffer.from(parts.join('.'))
}

/** Compact JWS as they come, with signatures that are nobody's. */
export const jws: Target = {
  name: 'jws',
  covers: ['packages/protocol/src/tokens/jws.ts', 'packages/protocol/src/tokens/base64url.ts'],
  seeds: () => [
    unsigned(header('at+jwt'), access),
    unsigned(header('revocations+jwt'), revocations),
    unsigned({ ...header('JWT'), crit: ['b64'], b64: false }, {}),
    unsigned(header('at+jwt'), { ...access, more: 'x'.repeat(4000) }),
  ],
  mutators: [mutatePart],
  words: ['.', '..', '=', '-_', encode('{"alg":"none"}')],
  maxBytes: 10_000,
  open: () => ({
    parse: (input) => {
      const text = input.toString('latin1')
      return outcomeOfLater(async () => {
        parseJws(text)
        return verify(text)
      }, [TokenError])
    },
  }),
}

/** Header and claims, a line each, that are signed with the issuer's key before they are read: what only a broken issuer sends. */
export const claims: Target = {
  name: 'claims',
  covers: [
    'packages/protocol/src/tokens/profiles.ts',
    'packages/protocol/src/tokens/checks/claims.ts',
    'packages/protocol/src/tokens/checks/times.ts',
    'packages/service-kit/src/tokens/verifier.ts',
  ],
  seeds: () =>
    [
      [header('at+jwt'), access],
      [header('revocations+jwt'), revocations],
    ].map((parts) => Buffer.from(parts.map((each) => JSON.stringify(each)).join('\n'))),
  mutators: [mutateJson],
  words: ['"cnf":null', '"cnf":1', '"aud":[]', '"exp":253402300799', '"not_before":null', '"typ":"JWT"'],
  maxBytes: 5000,
  open: () => ({
    parse(input) {
      const [head = '', payload = ''] = input.toString().split('\n')
      // Signing stands for the issuer; its cost is a part of every input.
      const signingInput = `${encode(head)}.${encode(payload)}`
      const token = `${signingInput}.${signEs256(privateKey, signingInput).toString('base64url')}`
      return outcomeOfLater(() => verify(token), [TokenError])
    },
  }),
}
