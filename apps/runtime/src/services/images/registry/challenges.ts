/** The challenges of a `WWW-Authenticate` field (RFC 9110 § 11.6.1). A server sends it: nothing in it is trusted. */

/** One way to authenticate that a server offers. */
export interface Challenge {
  /** In lower case: `bearer`, `basic`, `negotiate`. */
  readonly scheme: string
  /** By name in lower case. Of a name that comes twice, the first value. */
  readonly parameters: ReadonlyMap<string, string>
}

/** Challenges of one field, and parameters of one challenge; more are ignored. */
const limits = { challenges: 16, parameters: 32 } as const

/** A token of RFC 9110 § 5.6.2. */
const token = /[!#$%&'*+.^_`|~\w-]+/y
const unquoted = /[^\s,"]*/y
const separators = /[\s,]*/y
const spaces = /\s*/y

/**
 * All challenges of a field, in their order. It is read generously, as registries write it: spaces around `=`, values without quotes, names
 * in any case, a missing comma.
 *
 * @param field with all of its lines, joined by commas
 */
export function readChallenges(field: string): Challenge[] {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = []
  let at = 0
  const read = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const [found = ''] = pattern.exec(field) ?? []
    at += found.length
    return found
  }
  while (at < field.length) {
    read(separators)
    const name = read(token).toLowerCase()
    if (name === '') {
      // A sign that begins nothing.
      at++
      continue
    }
    read(spaces)
    if (field[at] === '=') {
      at++
      read(spaces)
      const value = field[at] === '"' ? readQuoted() : read(unquoted)
      const parameters = challenges.at(-1)?.parameters
      if (parameters && parameters.size < limits.parameters && !parameters.has(name))
        parameters.set(name, value)
      continue
    }
    if (challenges.length === limits.challenges) break
    challenges.push({ scheme: name, parameters: new Map() })
    skipToken68()
  }
  return challenges

  /** A quoted text (RFC 9110 § 5.6.4), or the rest of the field if its end is missing. */
  function readQuoted(): string {
    let text = ''
    for (at++; at < field.length && field[at] !== '"'; at++) {
      if (field[at] === '\\' && at + 1 < field.length) at++
      text += field[at]
    }
    at++
    return text
  }

  /** What `Negotiate` and `NTLM` have in place of parameters: up to the comma one word, with `=` at its end only. */
  function skipToken68(): void {
    const comma = field.indexOf(',', at)
    const end = comma < 0 ? field.length : comma
    const word = field.slice(at, end).trim()
    let length = word.length
    while (word[length - 1] === '=') length--
    if (!/[\s="]/.test(word.slice(0, length))) at = end
  }
}
