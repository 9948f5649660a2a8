/**
 * What a text is that was sent in place of another kind of token: the most likely mistake of the API. It is read off the form
 * and the type in the header alone. Nothing is verified, and nothing else of the text is ever repeated.
 */
import { parseJson } from '../jsonrpc/json.ts'
import { decodeBase64url } from './base64url.ts'
import { parseHmacCode } from './hmac-code.ts'
import { maxTokenLength } from './jws.ts'

interface Kind {
  readonly name: string
  /** How to get one; absent if callers need not get one. */
  readonly source?: string
}

/** Kinds of JWT, by the type in their header. */
const byType: Readonly<Record<string, Kind>> = {
  'at+jwt': { name: 'an access token', source: 'selvedge token access' },
  'edge-id+jwt': { name: 'an edge ID token', source: 'selvedge token edge' },
  JWT: { name: 'a developer ID token', source: 'selvedge login, or the page of the project in the console' },
  'lease+jwt': { name: 'a lease' },
  'local-at+jwt': { name: 'a local token' },
  'app-id+jwt': { name: 'an ID token for an app' },
  'dpop+jwt': { name: 'a DPoP proof' },
  'service+jwt': { name: 'a service token' },
  'revocations+jwt': { name: 'a list of revoked tokens' },
  'time+jwt': { name: 'a signed time' },
}

/** Texts that are no JWT, by their form. */
const byForm: readonly (readonly [RegExp, string])[] = [
  [/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.\d{1,12}\.[\w-]{43}$/, 'a refresh token'],
  [/^(?:bearer|dpop) /i, 'a whole Authorization header'],
  [/^[{["]/, 'JSON, not the token in it'],
  // 32 random bytes in base64url, as the runtime makes its key.
  [/^[\w-]{43}$/, 'a text in the form of an API key'],
]

/** What a text is, with its article and type, such as `an edge ID token (typ edge-id+jwt)`; undefined where it is not known. */
export function describeKind(text: string): string | undefined {
  if (text.length > maxTokenLength) return undefined
  const typ = typeOf(text)
  if (typ !== undefined) return `${byType[typ]!.name} (typ ${typ})`
  if (parseHmacCode(text)) return 'an HMAC code'
  return byForm.find(([form]) => form.test(text))?.[1]
}

/** One of the known types, if a text has the form of a JWT with such a header. */
export function typeOf(text: string): string | undefined {
  const [header = ''] = text.split('.', 1)
  const bytes = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text) && decodeBase64url(header)
  if (!bytes) return undefined
  try {
    const { typ } = Object(parseJson(new TextDecoder().decode(bytes), 4)) as { typ?: unknown }
    return typeof typ === 'string' && Object.hasOwn(byType, typ) ? typ : undefined
  } catch {
    return undefined
  }
}

/** A kind of token that is needed, with its article and how to get one: `an access token: selvedge token access`. */
export function describeNeeded(typ: string): string {
  const { name, source } = byType[typ] ?? { name: `a token of the type ${typ}` }
  return source === undefined ? name : `${name}: ${source}`
}
