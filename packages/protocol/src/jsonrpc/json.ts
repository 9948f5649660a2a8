/** Strict JSON (RFC 8259): what a lenient parser lets through and two readers may understand differently is refused. */

/** Why a text is not accepted: `syntax` covers duplicate members and numbers out of range too. */
export type JsonProblem = 'syntax' | 'depth'

export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly problem: JsonProblem
  constructor(problem: JsonProblem, message: string) {
    super(message)
    this.problem = problem
  }
}

/**
 * Parses `text` as one JSON value.
 *
 * @param text decoded text; a byte order mark counts as a syntax error
 * @param maxDepth how many objects and arrays may be inside each other
 * @param isStored whether strings with U+0000 or half of a surrogate pair are refused: a database cannot hold them
 * @throws JsonError on bad syntax, a repeated member name, a number beyond the range of a double, too much nesting, or a broken
 *   string if `isStored`
 *
 * @example
 * ```ts
 * import { parseJson } from '@selvedge/protocol/jsonrpc'
 *
 * console.log(parseJson('{"a": [1]}', 32))
 * ```
 */
export function parseJson(text: string, maxDepth = 32, isStored = false): unknown {
  if (text.charCodeAt(0) === 0xfeff)
    throw new JsonError('syntax', 'the text begins with a byte order mark (U+FEFF); send it without')
  const written = countMembersInText(text, maxDepth)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new JsonError('syntax', (cause as Error).message)
  }
  if (countMembers(value) !== written) {
    throw new JsonError('syntax', 'an object has two members of the same name')
  }
  // Both can only be written as an escape.
  if (isStored && text.includes('\\u') && hasBrokenText(value))
    throw new JsonError('syntax', 'a string has the character U+0000 or half of a surrogate pair')
  return value
}

/** What a character outside strings means here; 0 for everything that neither nests nor names. */
const kinds = new Uint8Array(128)
const [quote, opening, closing, colon] = [1, 2, 3, 4]
for (const [kind, characters] of [
  [quote, '"'],
  [opening, '{['],
  [closing, '}]'],
  [colon, ':'],
] as const)
  for (const each of characters) kinds[each.charCodeAt(0)] = kind

/**
 * Members as written: outside strings, each has one colon. Checks the depth before anything is built. Linear in the
 * text, whatever its strings and numbers hold: any caller can make the runtime do this work.
 */
function countMembersInText(text: string, maxDepth: number): number {
  let depth = 0
  let members = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const kind = code < 128 ? kinds[code] : 0
    if (kind === 0) continue
    if (kind === quote) at = endOfString(text, at)
    else if (kind === colon) members++
    else if (kind === closing) depth--
    else if (++depth > maxDepth) throw new JsonError('depth', `nested deeper than ${maxDepth} levels`)
  }
  return members
}

/** Index of the quote that ends a string; the length of the text if the string is not closed. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1)
  if (quote === -1) return text.length
  if (text.charCodeAt(quote - 1) !== 0x5c) return quote
  // Read in pairs from here on: an escape is a backslash and what follows it.
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x5c) at++
    else if (code === 0x22) return at
  }
  return text.length
}

/** Members as understood: fewer than written if a later one replaced an earlier one. */
function countMembers(value: unknown): number {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new JsonError('syntax', 'a number is too large for a double')
    return 0
  }
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const element of value) if (isCounted(element)) members += countMembers(element)
    return members
  }
  for (const name in value) {
    members++
    const member = (value as Record<string, unknown>)[name]
    if (isCounted(member)) members += countMembers(member)
  }
  return members
}

/** The depth was checked before. */
function hasBrokenText(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed()
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasBrokenText)
  return Object.entries(value).some((member) => member.some(hasBrokenText))
}

const isCounted = (value: unknown): boolean => typeof value === 'object' || typeof value === 'number'
