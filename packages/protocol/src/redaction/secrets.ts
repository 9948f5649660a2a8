/**
 * What is printed, logged or exported ends up in scroll-back buffers, bug reports and other people's hands. Secrets are removed
 * from it here: by the name of their member, and by their shape in any text.
 */

/** Names of fields, parameters and headers with secret values. */
const secretName =
  /token|secret|password|passphrase|credential|assertion|authorization|cookie|proof|dpop|signature|ticket|session|key$|(?:device|user|enrolment|hmac|recovery)_?code|^code$|^lease$|link/i

/** Fields that are named like a secret but are not secret. */
const plainName = /_type$|^expires_in$/i

/** Whether a field, parameter or header of this name holds a secret. */
export const isSecretName = (name: string): boolean => secretName.test(name) && !plainName.test(name)

/** Secrets by their shape, wherever they stand: refresh token, HMAC code, join key, credentials of HTTP, user and password in a URL. */
const shapes: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.\d{1,12}\.[\w-]+/g, '<refresh token>'],
  [/\bv1\.[0-9a-f]{56}\.[\w.-]+/g, '<HMAC code>'],
  [/\bsj_[\w-]{32}/g, '<join key>'],
  [/\b(Bearer|DPoP|Session|Basic) +[^\s'"<]+/gi, '$1 <redacted>'],
  [/(\/\/)[^/@\s'"]+@/g, '$1<redacted>@'],
]

/** Names in running text, such as a URL in a message. Fewer than above: "the session" and "link" are words. */
const secretInText =
  /(?:token|secret|password|passphrase|credential|(?:api|join)[_-]?key|(?:device|user|enrolment|hmac|recovery)_?code|session|cookie)$/i
const secretHeader = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)$/i

/**
 * A name with its value: a field of a form or a URL, a member of JSON (its quotes may be escaped), a header up to the end of its
 * line.
 */
const pairs: readonly (readonly [RegExp, RegExp])[] = [
  [/(?<![\w-])([\w-]{1,60})(=)[^&\s"'<>;,]+/g, secretInText],
  [/(?<![\w-])([\w-]{1,60})(\\?" ?: ?\\?")[^"\\]+/g, secretInText],
  [/(?<![\w-])([\w-]{1,60})(: )[^\r\n"'<]+/g, secretHeader],
]

/** Words with dots in them, whole: a pattern that begins inside of a word would read it once for each of its letters. */
const dotted = /(?<![\w-])[\w-]+(?:\.[\w-]*){2,}/g

/** Text without any of this has no secret of a known form: one search instead of nine, for logs. */
const suspicious = /[=@]|eyJ|-[\da-f]{12}\.\d|v1\.|sj_|" ?:|(?:ion|kie|key): |(?:bearer|dpop|session|basic) /i

/**
 * Text without secrets of a known shape. Linear in its length.
 *
 * @example
 * ```ts
 * import { redactText } from '@selvedge/protocol/redaction'
 *
 * console.log(redactText('Authorization: Bearer abc')) // Authorization: <redacted>
 * ```
 */
export function redactText(text: string): string {
  if (!suspicious.test(text)) return text
  const withoutPairs = pairs.reduce(
    (rest, [pair, secret]) =>
      rest.replaceAll(pair, (found: string, name: string, separator: string) =>
        secret.test(name) ? `${name}${separator}<redacted>` : found,
      ),
    text,
  )
  const withoutTokens = withoutPairs.replaceAll(dotted, (word) => (/\beyJ/.test(word) ? '<token>' : word))
  return shapes.reduce((rest, [shape, shown]) => rest.replaceAll(shape, shown), withoutTokens)
}
