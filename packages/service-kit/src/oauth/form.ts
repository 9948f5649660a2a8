import { OAuthError } from '@selvedge/protocol'

/** Text of a caller in a message, which must be printable ASCII without quotes (RFC 6749 § 5.2): at most 60 characters of it. */
export const quote = (text: string): string => `"${text.slice(0, 60).replaceAll(/["\\]|[^\x20-\x7e]/g, '?')}"`

/**
 * Parses a form strictly: well-formed escapes of valid UTF-8, each field at most once, and no empty field
 * (RFC 6749 § 3.2 forbids repeated fields and lets empty ones be ignored; an error is clearer).
 *
 * @param empty whether empty fields are refused or ignored; RFC 6749 § 3.1 wants them ignored at the authorization endpoint
 * @throws OAuthError `invalid_request`, naming the field
 */
export function parseForm(
  body: string,
  empty: 'refused' | 'ignored' = 'refused',
): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  if (body === '') return fields
  for (const pair of body.split('&')) {
    const at = pair.indexOf('=')
    if (at === -1) throw new OAuthError('invalid_request', 'the body is not a form: a part of it has no "="')
    const name = decode(pair.slice(0, at))
    const value = decode(pair.slice(at + 1))
    if (fields.has(name)) throw new OAuthError('invalid_request', `the field ${quote(name)} is repeated`)
    if (name.includes('\0') || value.includes('\0'))
      throw new OAuthError('invalid_request', `the field ${quote(name)} has the character U+0000`)
    if (value === '' && empty === 'ignored') continue
    if (value === '') throw new OAuthError('invalid_request', `the field ${quote(name)} is empty`)
    fields.set(name, value)
  }
  return fields
}

/** Tokens, the bulk of every body, have nothing to decode. */
function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    // With a pattern: with a string it was half as fast for a body of pluses.
    return decodeURIComponent(text.replaceAll(/\+/g, ' '))
  } catch {
    throw new OAuthError(
      'invalid_request',
      'the body is not a form: it has a broken % escape or invalid UTF-8',
    )
  }
}

/** @throws OAuthError `invalid_request` where the field is missing */
export function required(form: ReadonlyMap<string, string>, name: string): string {
  const value = form.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `the field "${name}" is missing`)
  return value
}
