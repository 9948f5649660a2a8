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
 * @throws JsonError on bad syntax, a repeated member name, a number beyond the range of a double, or too much nesting
 */
export function parseJson(text: string, maxDepth = 32): unknown {
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
  return value
}

/** Members as written: outside strings a colon stands once for each. Checks the depth before anything is built. */
function countMembersInText(text: string, maxDepth: number): number {
  let depth = 0
  let members = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at)
        break
      case 0x7b:
      case 0x5b:
        if (++depth > maxDepth) throw new JsonError('depth', `nested deeper than ${maxDepth} levels`)
        break
      case 0x7d:
      case 0x5d:
        depth--
        break
      case 0x3a:
        members++
        break
    }
  }
  return members
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1) {
    let before = end - 1
    while (text.charCodeAt(before) === 0x5c) before--
    if ((end - before) % 2 === 1) return end
    end = text.indexOf('"', end + 1)
  }
  return text.length
}

/** Members as understood: fewer than written where a later one replaced an earlier one. */
function countMembers(value: unknown): number {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new JsonError('syntax', 'a number is too large for a double')
    return 0
  }
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const element of value) members += countMembers(element)
    return members
  }
  for (const name in value) {
    members += 1 + countMembers((value as Record<string, unknown>)[name])
  }
  return members
}
