/** Makes hostile tokens from a description: what a case changes, and who signs it. */
import {
  constants,
  createHmac,
  createPrivateKey,
  createPublicKey,
  sign as cryptoSign,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { signEs256 } from '@selvedge/service-kit/tokens'
import { createSeal } from '../../apps/identity/src/storage/secrets/seal.ts'

export interface Forgery {
  readonly name: string
  /** Kinds of token that the case is for; absent: all three. */
  readonly of?: readonly Kind[]
  /** Merged into the header; null removes a member. "$jwk": the attacker's public key. */
  readonly header?: Readonly<Record<string, unknown>>
  /** Merged into the payload; null removes a member. "$now+60" is a time, "$iss" the issuer. */
  readonly payload?: Readonly<Record<string, unknown>>
  /** JSON text appended to the payload's, in place of its closing brace. */
  readonly append?: string
  /** Who signs, with what. Default: the issuer, as it should be. */
  readonly sign?:
    | 'issuer'
    | 'stranger'
    | 'none'
    | 'keep'
    | 'hs256-public-key'
    | 'hs256-empty'
    | 'hs256-jwk'
    | 'rs256'
    | 'ps256'
    | 'next'
  /** What is done to the finished text. */
  readonly spell?: keyof typeof spellings
  /** Reason of the refusal, or "accepted". */
  readonly expect: string
}

export type Kind = 'developer' | 'edge' | 'access'

export interface IssuerKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** The signing keys of an identity service, from its database: the test stands where no attacker stands. */
export function readIssuerKeys(
  state: string,
  table: 'signing_keys' | 'rsa_signing_keys' = 'signing_keys',
): { active: IssuerKey; next: IssuerKey } {
  const key = readFileSync(join(state, 'identity', 'secret-keys'), 'utf8').trim()
  const seal = createSeal([Buffer.from(key, 'base64url')])
  const database = new DatabaseSync(join(state, 'identity', 'identity.db'), { readOnly: true })
  const rows = database.prepare(`SELECT kid, private_jwk, state FROM ${table}`).all() as {
    kid: string
    private_jwk: string
    state: string
  }[]
  database.close()
  const find = (which: string): IssuerKey => {
    const row = rows.find(({ state }) => state === which)!
    const privateKey = createPrivateKey({
      key: JSON.parse(seal.open(row.private_jwk, `signing key ${row.kid}`)),
      format: 'jwk',
    })
    return { kid: row.kid, privateKey, publicKey: createPublicKey(privateKey) }
  }
  return { active: find('active'), next: find('next') }
}

const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

const decode = (part: string) =>
  JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
const encode = (text: string) => Buffer.from(text).toString('base64url')

export function forge(
  genuine: string,
  { header, payload, append, sign = 'issuer', spell }: Forgery,
  keys: ReturnType<typeof readIssuerKeys>,
): string {
  const [oldHeader, oldPayload, oldSignature] = genuine.split('.') as [string, string, string]
  const named = sign === 'next' ? { ...header, kid: keys.next.kid } : header
  const newHeader = encode(JSON.stringify(merge(decode(oldHeader), named)))
  const text = JSON.stringify(merge(decode(oldPayload), payload))
  const untouched = !payload && append === undefined
  const newPayload = untouched
    ? oldPayload
    : encode(append === undefined ? text : `${text.slice(0, -1)},${append}}`)
  const signingInput = `${header ? newHeader : oldHeader}.${newPayload}`
  const signature =
    sign === 'keep' || (sign === 'issuer' && !header && untouched)
      ? oldSignature
      : signers[sign](signingInput, keys)
  const token = `${signingInput}.${signature}`
  return spell ? spellings[spell](token, keys) : token
}

function merge(
  before: Record<string, unknown>,
  changes: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const result = { ...before }
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete result[name]
    else result[name] = evaluate(value, before)
  }
  return result
}

function evaluate(value: unknown, before: Record<string, unknown>): unknown {
  if (value === '$jwk') return stranger.publicKey.export({ format: 'jwk' })
  if (value === '$null') return null
  if (value === '$aud') return [before.aud].flat()[0]
  if (Array.isArray(value)) return value.map((each) => evaluate(each, before))
  if (typeof value !== 'string' || !value.startsWith('$')) return value
  const time = /^\$now([+-]\d+)?$/.exec(value)
  if (time) return Math.floor(Date.now() / 1000) + Number(time[1] ?? 0)
  return before[value.slice(1)]
}

type Keys = ReturnType<typeof readIssuerKeys>

const signers: Record<NonNullable<Forgery['sign']>, (input: string, keys: Keys) => string> = {
  issuer: (input, { active }) => signEs256(active.privateKey, input).toString('base64url'),
  next: (input, { next }) => signEs256(next.privateKey, input).toString('base64url'),
  stranger: (input) => signEs256(stranger.privateKey, input).toString('base64url'),
  none: () => '',
  keep: () => '',
  'hs256-public-key': (input, { active }) =>
    createHmac('sha256', active.publicKey.export({ format: 'pem', type: 'spki' }))
      .update(input)
      .digest('base64url'),
  'hs256-empty': (input) => createHmac('sha256', '').update(input).digest('base64url'),
  'hs256-jwk': (input, { active }) =>
    createHmac('sha256', JSON.stringify(active.publicKey.export({ format: 'jwk' })))
      .update(input)
      .digest('base64url'),
  rs256: (input) => cryptoSign('sha256', Buffer.from(input), rsa.privateKey).toString('base64url'),
  ps256: (input) =>
    cryptoSign('sha256', Buffer.from(input), {
      key: rsa.privateKey,
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: 32,
    }).toString('base64url'),
}

/** Order of the group of P-256. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

const mapSignature = (token: string, change: (signature: Buffer) => Buffer): string => {
  const at = token.lastIndexOf('.') + 1
  return token.slice(0, at) + change(Buffer.from(token.slice(at), 'base64url')).toString('base64url')
}

const toDer = (signature: Buffer): Buffer => {
  const integer = (bytes: Buffer) => Buffer.concat([Buffer.from([2, 33, 0]), bytes])
  const both = Buffer.concat([integer(signature.subarray(0, 32)), integer(signature.subarray(32))])
  return Buffer.concat([Buffer.from([0x30, both.length]), both])
}

const spellings = {
  'padded signature': (token: string) => `${token}==`,
  'padded header': (token: string) => token.replace('.', '=.'),
  'space before': (token: string) => ` ${token}`,
  'space after': (token: string) => `${token} `,
  'line feed after': (token: string) => `${token}\n`,
  'space inside the signature': (token: string) => `${token.slice(0, -10)} ${token.slice(-10)}`,
  'standard base64 alphabet': (token: string) => mapText(token, (text) => `${text.slice(0, -2)}+/`),
  'spare bits set': (token: string) => token.slice(0, -1) + nextLetter(token.at(-1)!),
  'fourth part': (token: string) => `${token}.e30`,
  'trailing dot': (token: string) => `${token}.`,
  'two parts': (token: string) => token.slice(0, token.lastIndexOf('.')),
  'empty signature': (token: string) => token.slice(0, token.lastIndexOf('.') + 1),
  'empty payload': (token: string) => token.replace(/\.[^.]*\./, '..'),
  'JSON serialization': (token: string) => {
    const [protectedHeader, payload, signature] = token.split('.')
    return JSON.stringify({ protected: protectedHeader, payload, signature })
  },
  'Bearer before': (token: string) => `Bearer ${token}`,
  'dots only': () => '.'.repeat(5000),
  'a NUL byte after': (token: string) => `${token}\0`,
  'very long': (token: string) => token.replace('.', `.${'A'.repeat(20_000)}`),
  'last byte of the signature changed': (token: string) =>
    mapSignature(token, (signature) => flip(signature, 63)),
  'first byte of the signature changed': (token: string) =>
    mapSignature(token, (signature) => flip(signature, 0)),
  'signature of zeros': (token: string) => mapSignature(token, () => Buffer.alloc(64)),
  'signature in DER': (token: string) => mapSignature(token, toDer),
  'signature with a byte more': (token: string) =>
    mapSignature(token, (signature) => Buffer.concat([signature, Buffer.alloc(1)])),
  'signature with a byte less': (token: string) =>
    mapSignature(token, (signature) => signature.subarray(0, 63)),
  'r and s swapped': (token: string) =>
    mapSignature(token, (s) => Buffer.concat([s.subarray(32), s.subarray(0, 32)])),
  'twin signature': (token: string) =>
    mapSignature(token, (signature) => {
      const s = BigInt(`0x${signature.subarray(32).toString('hex')}`)
      return Buffer.concat([
        signature.subarray(0, 32),
        Buffer.from((order - s).toString(16).padStart(64, '0'), 'hex'),
      ])
    }),
  'payload of another token': (token: string) => token.replace(/\.[^.]*\./, `.${encode('{"iss":"x"}')}.`),
  'header that is an array': (token: string) => token.replace(/^[^.]*/, encode('[]')),
  'payload that is a string': (token: string, keys: Keys) => resign(token, encode('"x"'), keys),
  'payload that is null': (token: string, keys: Keys) => resign(token, encode('null'), keys),
  'payload in invalid UTF-8': (token: string, keys: Keys) =>
    resign(token, Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url'), keys),
  'payload with a byte order mark': (token: string, keys: Keys) => {
    const payload = Buffer.from(token.split('.')[1]!, 'base64url')
    return resign(
      token,
      Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), payload]).toString('base64url'),
      keys,
    )
  },
  'payload with bytes after it': (token: string, keys: Keys) =>
    resign(
      token,
      Buffer.concat([Buffer.from(token.split('.')[1]!, 'base64url'), Buffer.from('{}')]).toString(
        'base64url',
      ),
      keys,
    ),
}

const mapText = (token: string, change: (signature: string) => string): string => {
  const at = token.lastIndexOf('.') + 1
  return token.slice(0, at) + change(token.slice(at))
}

function resign(token: string, payload: string, keys: Keys): string {
  const signingInput = `${token.split('.')[0]}.${payload}`
  return `${signingInput}.${signers.issuer(signingInput, keys)}`
}

function flip(bytes: Buffer, at: number): Buffer {
  bytes[at]! ^= 1
  return bytes
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const nextLetter = (letter: string): string => alphabet[alphabet.indexOf(letter) ^ 1]!
