/** Variables in texts: `$X`, `${X}`, `${X:-default}`, `${X-default}`, `${X:?error}`, `${X?error}`, `${X:+other}`, `${X+other}`, `$$`. */
import { composeLimits } from './limits.ts'

/** A text with an invalid variable, or one that the file requires and that is not set. */
export class VariableError extends Error {
  override readonly name = 'VariableError'
}

export interface Variables {
  /** @returns undefined for a variable that is not set */
  readonly get: (name: string) => string | undefined
  /** Called for a variable without a value and without a default: its text is empty. */
  readonly onUnset: (name: string) => void
}

const namePattern = /[A-Za-z_][A-Za-z0-9_]*/y

function nameAt(text: string, at: number): string {
  namePattern.lastIndex = at
  return namePattern.exec(text)?.[0] ?? ''
}

/** The position of the `}` that closes the `{` before a position; -1 without one. */
function closingAt(text: string, from: number): number {
  let depth = 1
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '$' && text[at + 1] === '$') at += 1
    else if (text[at] === '$' && text[at + 1] === '{') {
      depth += 1
      at += 1
    } else if (text[at] === '}' && (depth -= 1) === 0) return at
  }
  return -1
}

/**
 * Replaces the variables of a text, those in default values included. The value of a variable is not read for further ones.
 *
 * @throws VariableError for an invalid or missing variable, and beyond the limits of depth and length
 */
export function interpolate(text: string, variables: Variables, depth = 0): string {
  if (!text.includes('$')) return text
  if (depth > composeLimits.variableDepth)
    throw new VariableError(
      `More than ${composeLimits.variableDepth} variables are in the defaults of each other. Write fewer.`,
    )
  const parts: string[] = []
  let length = 0
  const add = (part: string) => {
    length += part.length
    if (length > composeLimits.textCharacters)
      throw new VariableError(
        `With its variables the text has more than ${composeLimits.textCharacters} characters. Set shorter values.`,
      )
    parts.push(part)
  }
  let at = 0
  while (at < text.length) {
    const dollar = text.indexOf('$', at)
    add(text.slice(at, dollar === -1 ? text.length : dollar))
    if (dollar === -1) break
    at = addVariable(text, dollar, variables, depth, add)
  }
  return parts.join('')
}

/** @returns the position after the variable */
function addVariable(
  text: string,
  dollar: number,
  variables: Variables,
  depth: number,
  add: (part: string) => void,
): number {
  const next = text[dollar + 1]
  if (next === '$') {
    add('$')
    return dollar + 2
  }
  if (next !== '{') {
    const name = nameAt(text, dollar + 1)
    if (name === '') throw invalid(text.slice(dollar, dollar + 20))
    add(valueFor(name, variables))
    return dollar + 1 + name.length
  }
  const end = closingAt(text, dollar + 2)
  if (end === -1) throw invalid(text.slice(dollar, dollar + 20))
  add(braced(text.slice(dollar + 2, end), variables, depth))
  return end + 1
}

const invalid = (piece: string) =>
  new VariableError(
    `${JSON.stringify(piece)} is not a variable. Write \${NAME} or \${NAME:-default}, and $$ for a dollar sign.`,
  )

function valueFor(name: string, variables: Variables): string {
  const value = variables.get(name)
  if (value === undefined) variables.onUnset(name)
  return value ?? ''
}

/** What is between the braces: a name, and what to do without a value. */
function braced(inner: string, variables: Variables, depth: number): string {
  const name = nameAt(inner, 0)
  const [, operator = '', word = ''] = /^(:?[-?+])([\s\S]*)$/.exec(inner.slice(name.length)) ?? []
  if (name === '' || (operator === '' && inner.length > name.length))
    throw invalid(`\${${inner.slice(0, 20)}`)
  if (operator === '') return valueFor(name, variables)
  const value = variables.get(name)
  const isSet = value !== undefined && !(operator.startsWith(':') && value === '')
  const replaced = () => interpolate(word, variables, depth + 1)
  if (operator.endsWith('+')) return isSet ? replaced() : ''
  if (isSet) return value
  if (operator.endsWith('-')) return replaced()
  const reason = replaced()
  throw new VariableError(
    `The variable ${name} is ${value === undefined ? 'not set' : 'empty'}${reason === '' ? '' : `: ${reason}`}. Set it in the environment, or in .env beside the file.`,
  )
}
