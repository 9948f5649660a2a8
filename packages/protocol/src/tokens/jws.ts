/** Reading a compact JWT (RFC 7515 § 3.1, RFC 7519) without trusting any of it. */
import { parseJson } from '../jsonrpc/json.ts'
import { decodeBase64url } from './base64url.ts'

/** Why a token is not accepted. The words are reasons of the error catalogue. */
export type TokenProblem =
  | 'token_missing'
  | 'token_malformed'
  | 'token_untrusted'
  | 'token_expired'
  | 'token_not_yet_valid'
  | 'token_revoked'

/** A refused token. The message never repeats any part of the token that could be used again. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
  readonly reason: TokenProblem
  /** Set where the token is of another kind than the one that is needed. */
  readonly wrongKind: WrongKind | undefined
  constructor(reason: TokenProblem, message: string, wrongKind?: WrongKind) {
    super(wrongKind ? `this is ${wrongKind.found}; what is needed is ${wrongKind.needed}` : message)
    this.reason = reason
    this.wrongKind = wrongKind
  }

  /** The message with what the token is for, such as `updateGps` or `edge_id_token`. */
  messageFor(use: string): string {
    const { wrongKind } = this
    return wrongKind ? `this is ${wrongKind.found}; ${use} needs ${wrongKind.needed}` : this.message
  }
}

/** A token of one kind in the place of another. */
export interface WrongKind {
  /** What it is: `an edge ID token (typ edge-id+jwt)`. */
  readonly found: string
  /** Type of the token that is needed. */
  readonly typ: string
  /** What is needed, and how to get one: `an access token: selvedge token access`. */
  readonly needed: string
}

export type JsonObject = Record<string, unknown>

export interface Jws {
  readonly header: JsonObject
  readonly payload: JsonObject
  /** The signed text: the first two parts, unchanged. */
  readonly signingInput: string
  readonly signature: Uint8Array<ArrayBuffer>
}

/** Longest token that is looked at, in characters. */
export const maxTokenLength = 8192

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Headers that were read before, by their text: an issuer's tokens all have the same one or two. */
export interface KnownHeaders {
  get(text: string): JsonObject | undefined
  set(text: string, header: JsonObject): unknown
}

/** @param maxLength in characters @throws TokenError `token_missing` or `token_malformed` */
export function parseJws(token: string, known?: KnownHeaders, maxLength?: number): Jws {
  const { header, payload, signingInput, signature } = splitJws(token, known, maxLength)
  return { header, payload: readJson('payload', payload), signingInput, signature }
}

/**
 * The parts of a compact JWS (RFC 7515 § 7.1), whatever its payload is.
 *
 * @throws TokenError `token_missing` or `token_malformed`
 */
export function splitJws(
  token: string,
  known?: KnownHeaders,
  maxLength = maxTokenLength,
): Omit<Jws, 'payload'> & { readonly payload: Uint8Array } {
  if (token === '') throw new TokenError('token_missing', 'the token is empty')
  if (token.length > maxLength) {
    throw new TokenError('token_malformed', `the token is longer than ${maxLength} characters`)
  }
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  if (second === -1 || token.indexOf('.', second + 1) !== -1) {
    throw new TokenError('token_malformed', 'the token does not have three parts')
  }
  const headerText = token.slice(0, first)
  const header = known?.get(headerText) ?? readJson('header', readBytes('header', headerText))
  known?.set(headerText, header)
  return {
    header,
    payload: readBytes('payload', token.slice(first + 1, second)),
    signingInput: token.slice(0, second),
    signature: readBytes('signature', token.slice(second + 1)),
  }
}

function readBytes(name: string, text: string): Uint8Array<ArrayBuffer> {
  const bytes = decodeBase64url(text)
  if (bytes && bytes.length > 0) return bytes
  throw new TokenError('token_malformed', `the ${name} of the token ${problemOf(text)}`)
}

function problemOf(text: string): string {
  if (text === '') return 'is empty'
  return /\s/.test(text)
    ? 'contains white space: remove line breaks, also at its end'
    : 'is not strict base64url'
}

function readJson(name: string, bytes: Uint8Array): JsonObject {
  let value: unknown
  try {
    value = parseJson(utf8.decode(bytes), 16, true)
  } catch (cause) {
    throw new TokenError(
      'token_malformed',
      `the ${name} of the token is not strict JSON: ${(cause as Error).message}`,
    )
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TokenError('token_malformed', `the ${name} of the token is not a JSON object`)
  }
  return value as JsonObject
}
